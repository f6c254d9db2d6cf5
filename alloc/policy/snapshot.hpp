// The picture a policy decides from: values only, made by the engine, owned by nobody else.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace tessera {

// One run that may leave the tier in question. Epochs count announced uses of the whole device.
struct RunPicture {
  std::size_t run = 0;          // the engine's name for it; decisions repeat it
  Bytes bytes{};                // in the tier that is short, and able to leave it now
  Bytes clean{};                // of those, bytes whose copy in a lower tier is still valid
  std::uint64_t used = 0;       // epoch of the last use
  std::uint64_t gap = 0;        // last known distance between two uses; 0 = unknown
  std::uint32_t often = 0;      // how often it was used of late, as of now (base/decayed_count.hpp)
  std::uint64_t next = 0;       // epoch of the next use, where a learned iteration tells; 0 = unknown
  bool idle = true;             // no queued work uses it: it can leave without waiting
  bool dead = false;            // its bytes do not matter: leaving moves nothing
  TagId tag{};
};

// Which tier is short, and by how much. Leaving `device` goes to host, leaving `host` to file.
enum class Shortage : std::uint8_t { kDevice, kHost };

struct Snapshot {
  Shortage shortage = Shortage::kDevice;
  Bytes need{};                 // at least so much must leave
  std::uint64_t epoch = 0;      // now
  std::vector<RunPicture> runs{};  // all that may leave, in no order
};

// What shall leave, first to last; the engine stops when enough has left.
struct Decision {
  std::vector<std::size_t> leave;  // RunPicture::run
};

}  // namespace tessera
