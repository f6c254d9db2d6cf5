// A ledger in memory, for the programs of one simulated machine.
//
// Thread safety: one thread at a time (virtual_threads.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "node/ledger_file.hpp"

namespace tessera {

class MemoryLedger {
 public:
  // One program's way to it, until the program is `dead`. REQUIRES: this and `dead` outlive it.
  std::unique_ptr<LedgerFile> open(const bool& dead);

 private:
  class File;

  std::vector<std::byte> bytes_;  // empty: there is no file
  bool locked_ = false;
};

}  // namespace tessera
