// How often something happened of late: a count that halves with each window of the clock that begins.
//
// One number and the time of the last event are all that is kept, and an event costs a shift and an addition. The clock
// is whatever the caller counts in; for runs it is epochs, one per launch.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace tessera {

// Long beside the experts, layers or requests that a model turns among, short beside a program's change of mind:
// 16384 launches are a few training steps, and less than a second of most.
inline constexpr unsigned kDecayWindowBits = 14;
// What one event counts in its window, so that it is told from none for some windows after.
inline constexpr std::uint32_t kOneEvent = 256;

// What is left at `now` of a count as it was at `then`. One of an event per tick stays below 2^24.
inline std::uint32_t decayed(std::uint32_t count, std::uint64_t then, std::uint64_t now) {
  const std::uint64_t before = then >> kDecayWindowBits, after = now >> kDecayWindowBits;
  if (after <= before) return count;
  return after - before < 32 ? count >> (after - before) : 0;
}

}  // namespace tessera
