// The state that a policy decides from: values only, created by the engine for one decision.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/epoch.hpp"
#include "base/location.hpp"
#include "base/units.hpp"

namespace tessera {

// A run that may be evicted from the tier in question. Epochs count announced uses of the whole device.
struct RunPicture {
  std::size_t run = 0;      // the engine's name for it; used in decisions
  Bytes bytes{};            // in the tier that is short, and evictable now
  Bytes clean{};            // of those, bytes with a valid copy in a lower tier
  Epoch used{};             // epoch of the latest use
  std::uint64_t gap = 0;    // latest distance between two uses; 0 = unknown
  std::uint32_t often = 0;  // decayed use count as of now (base/decayed_count.hpp)
  Epoch next{};             // epoch of the next use, if a learned iteration gives it; never = unknown
  bool idle = true;         // without pending work: eviction need not wait
  bool dead = false;        // its contents do not matter: eviction copies nothing
  TagId tag{};
};

// Which tier is short. Evictions from `device` go to the host, those from `host` to the file.
struct Snapshot {
  Location shortage = Location::kDevice;  // where room is needed: there, or kHost
  Bytes need{};                           // at least this many bytes must leave
  Epoch epoch{};                          // now
  std::vector<RunPicture> runs{};         // all runs that may be evicted, in no order
};

// The runs to evict, in order; the engine stops when enough bytes have left.
struct Decision {
  std::vector<std::size_t> victims;  // RunPicture::run
};

}  // namespace tessera
