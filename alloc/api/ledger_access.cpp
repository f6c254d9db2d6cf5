#include "api/ledger_access.hpp"

#include <chrono>
#include <thread>

#include "api/node_memory.hpp"

namespace tessera {
namespace {

class SystemLedgers final : public LedgerAccess {
 public:
  Result<std::unique_ptr<LedgerFile>> open(const Options& options, const std::string& device) override {
    return open_ledger_file(ledger_folders(options), options.node, device);
  }
  ProcessId process() const override { return this_process(); }
  const Clock& clock() const override { return clock_; }
  void pause(Nanoseconds time) override { std::this_thread::sleep_for(std::chrono::nanoseconds(time.value())); }

 private:
  SteadyClock clock_;
};

}  // namespace

// Never destroyed: the pump looks at the ledgers until the process is gone.
LedgerAccess& system_ledgers() {
  static SystemLedgers& ledgers = *new SystemLedgers;
  return ledgers;
}

}  // namespace tessera
