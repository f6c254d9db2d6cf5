// Options of the engine, and the result of sleep and wake.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <functional>

#include "base/units.hpp"
#include "planning/run_class.hpp"
#include "residency/iteration/planner.hpp"

namespace tessera {

// Result of sleep or wake: bytes that were moved, and bytes that were not.
struct Moved {
  Bytes moved;
  Bytes stayed;
};

struct ResidencyOptions {
  std::uint32_t low_percent = 0;    // of a budget: start evicting when less is free
  std::uint32_t high_percent = 12;  // ... until this much is free
  MakePlanner make_planner = first_strategy;
  bool fingerprints = true;      // to find out which pages have changed
  ClassOfTag class_of_tag = {};  // called under the engine's lock; must outlive it
  // Where work may be unannounced: launches on its stream for which a run stays after its last announced use, while
  // other runs can be evicted. At most StreamTable::kMostGrace.
  std::uint32_t grace = 0;
  // Where work may be unannounced: runs that launches do not show stay mapped when they leave the device
  // (visibility.hpp).
  bool by_visibility = false;
  // How long a call waits for work that makes no progress before it proceeds without work that may wait for the
  // program.
  Nanoseconds patience{2'000'000'000};
  std::size_t queue_depth = 0;  // as in DeviceProperties
  // Called before bytes are fetched for a call of the program, without a lock: may wait while it is another program's
  // turn to use the device. `needed`: of all runs of the call, `missing`: of them, not on the device. True: it waited
  // until there was room for them, so it is called again if there is less by the time of the fetch.
  std::function<bool(Bytes needed, Bytes missing)> before_fetch = {};
};

}  // namespace tessera
