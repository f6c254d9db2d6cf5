// One machine in virtual time that several replayed programs share: the device's memory and engines, the disk, and the
// ledger in which they tell each other what they hold and want.
//
// Thread safety: one thread at a time (virtual_threads.hpp).
#pragma once

#include <cstdint>

#include "base/virtual_clock.hpp"
#include "lab/replay/memory_ledger.hpp"
#include "sim/virtual_file_io.hpp"
#include "sim/virtual_hardware.hpp"

namespace tessera {

struct SharedMachine {
  // A device on which all programs together may hold `usable`, with the reserve that each leaves to the driver beside
  // it.
  explicit SharedMachine(Bytes usable);

  VirtualClock clock;
  const Bytes memory;  // of the device
  VirtualHardware hardware;
  VirtualDisk disk;
  MemoryLedger ledger;
  std::uint64_t programs = 0;  // that were started on it
};

// How a program uses it: the options of the same names of `tessera run`.
struct SharedUse {
  bool shares = true;               // false: it takes what it can get
  std::uint32_t time_slice = 2000;  // milliseconds; 0: no turns
  std::uint32_t weight = 100;
  Bytes limit{};  // 0: none
};

struct SharedPlace {
  SharedMachine& machine;
  SharedUse use;
};

}  // namespace tessera
