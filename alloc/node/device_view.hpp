// A device's ledger as a tool sees it: which program has how much of the device, and whose turn it is.
//
// What a program may hold is what it has decided itself: only programs know what the driver has given to others.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "node/ledger_view.hpp"

namespace tessera {

enum class Turn : std::uint8_t {
  kNone,   // the programs have the device at the same time, or this one does not need it now
  kHas,    // the device is this program's
  kWaits,  // it waits for its turn
};

struct DeviceProgram {
  LedgerRow row;
  bool active = false;  // it uses the device, or waits for its turn
  Turn turn = Turn::kNone;
  Nanoseconds left{};  // of its time slice; 0: it is over, and another that waits takes its turn
};

struct DeviceView {
  Bytes total;   // of the device
  Bytes budget;  // what all programs may hold of it together; 0 while one is alone
  std::vector<DeviceProgram> programs;
};

// `now` is on the machine's monotonic clock.
DeviceView device_view(const LedgerView& ledger, Nanoseconds now);

}  // namespace tessera
