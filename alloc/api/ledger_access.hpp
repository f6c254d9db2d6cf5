// What a program needs of its machine to share a device with others: the ledger of the device, the clock that its rows
// are timed with, and how a call waits.
//
// An interface, so that several programs of one simulated machine share a device in virtual time.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <memory>
#include <string>

#include "api/options.hpp"
#include "base/clock.hpp"
#include "node/ledger_file.hpp"
#include "node/process.hpp"

namespace tessera {

class LedgerAccess {
 public:
  virtual ~LedgerAccess() = default;
  // The ledger of the device with this UUID. Errors: as open_ledger_file.
  virtual Result<std::unique_ptr<LedgerFile>> open(const Options& options, const std::string& device) = 0;
  // This program, as its rows name it.
  virtual ProcessId process() const = 0;
  // The same for all programs of the machine.
  virtual const Clock& clock() const = 0;
  // The calling thread waits, while the program's other threads and its pump go on.
  virtual void pause(Nanoseconds time) = 0;
};

// The machine's own.
LedgerAccess& system_ledgers();

}  // namespace tessera
