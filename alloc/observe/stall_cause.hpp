// What a call of the program waits for when it stalls. docs/stats.md says what to do about each.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

enum class StallCause : std::uint8_t {
  kCopyIn,      // its bytes are on their way from host memory
  kFileRead,    // its bytes are on their way from the file
  kCopyOut,     // what makes room is on its way to host memory
  kFileWrite,   // host memory is full: what makes room there is on its way to the file
  kWork,        // queued work still uses what makes room
  kOtherCalls,  // calls under way on other threads hold the memory
  kMapping,     // no wait: the call's own work on pages, in the calls that had to wait
};
inline constexpr std::size_t kStallCauses = 7;

constexpr const char* name_of(StallCause cause) {
  constexpr const char* kNames[kStallCauses] = {"copy_in", "file_read",   "copy_out", "file_write",
                                                "work",    "other_calls", "mapping"};
  return kNames[static_cast<std::size_t>(cause)];
}

// The share of one cause.
struct StallPart {
  std::uint64_t stalls = 0;  // calls that waited for this longer than for anything else
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
