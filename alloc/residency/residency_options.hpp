// What the engine is told when it is made, and what it answers to sleep and wake.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "learn/run_class.hpp"
#include "residency/planner.hpp"

namespace tessera {

// What sleeping or waking did: bytes that changed sides, and those that did not.
struct Moved {
  Bytes moved;
  Bytes stayed;
};

struct ResidencyOptions {
  std::uint32_t low_percent = 0;    // of a budget: start paging out when less is free
  std::uint32_t high_percent = 12;  // ... until so much is free
  MakePlanner make_planner = first_strategy;
  bool fingerprints = true;         // of pages, to find out which of them have changed
  ClassOfTag class_of_tag = {};     // called under the engine's lock, and outlives it
  // Where work may be unseen: launches on its stream that a run stays for after its last announced use, while others
  // can leave. At most StreamTable::kMostGrace.
  std::uint32_t grace = 0;
  // For which a call waits for work of which nothing ends, before it does without what may wait for the program.
  Nanoseconds patience{2'000'000'000};
  std::size_t queue_depth = 0;  // as DeviceProperties'
};

}  // namespace tessera
