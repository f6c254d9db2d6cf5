// What a call of the program waits for when it stalls. docs/stats.md has the remedy for each.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

enum class StallCause : std::uint8_t {
  kCopyIn,      // the call's bytes are being copied from host memory
  kFileRead,    // the call's bytes are being read from the file
  kCopyOut,     // an eviction that makes room is copying to host memory
  kFileWrite,   // host memory is full: a spill that makes room there is writing to the file
  kWork,        // pending work still uses the blocks to be evicted
  kOtherCalls,  // calls in progress on other threads hold the memory
  kMapping,     // no wait: page work done by calls that also had to wait
};
inline constexpr std::size_t kStallCauses = 7;

constexpr const char* name_of(StallCause cause) {
  constexpr const char* kNames[kStallCauses] = {"copy_in", "file_read",   "copy_out", "file_write",
                                                "work",    "other_calls", "mapping"};
  return kNames[static_cast<std::size_t>(cause)];
}

// The share of one cause.
struct StallPart {
  std::uint64_t stalls = 0;  // calls for which this was the longest wait
  Nanoseconds time;
};
using StallParts = std::array<StallPart, kStallCauses>;

inline void add_parts(StallParts& sums, const StallParts& parts) {
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    sums[i].stalls += parts[i].stalls;
    sums[i].time += parts[i].time;
  }
}

}  // namespace tessera
