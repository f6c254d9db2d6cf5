#include "lab/replay/memory_ledger.hpp"

#include <algorithm>

namespace tessera {

class MemoryLedger::File final : public LedgerFile {
 public:
  File(MemoryLedger& ledger, const bool& dead) : ledger_(ledger), dead_(dead) {}

  // A program that holds the lock does not wait in virtual time, so another never finds it taken.
  Status lock(std::chrono::milliseconds) override {
    if (dead_) return Status(Code::kIo, "the program has ended");
    if (ledger_.locked_) return Status(Code::kBusy, "another program has the lock of the ledger");
    ledger_.locked_ = true;
    return {};
  }
  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t size = std::min(into.size(), ledger_.bytes_.size());
    std::copy_n(ledger_.bytes_.begin(), size, into.begin());
    return size;
  }
  Status write(std::size_t offset, std::span<const std::byte> bytes) override {
    ledger_.bytes_.resize(std::max(ledger_.bytes_.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), ledger_.bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Status remove() override {
    ledger_.bytes_.clear();
    return {};
  }
  void unlock() override { ledger_.locked_ = false; }

 private:
  MemoryLedger& ledger_;
  const bool& dead_;
};

std::unique_ptr<LedgerFile> MemoryLedger::open(const bool& dead) { return std::make_unique<File>(*this, dead); }

}  // namespace tessera
