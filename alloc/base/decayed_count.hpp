// A frequency count with exponential decay: it halves with each window of the clock.
//
// Only the count and the time of the last event are kept, and an event costs a shift and an addition. The clock
// is any counter of the caller's; for runs it is the epoch, one per launch.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace tessera {

// Long compared with how fast a model alternates between experts, layers or requests, short compared with how
// often a program changes its behaviour: 16384 launches are a few training steps, and less than a second for
// most programs.
inline constexpr unsigned kDecayWindowBits = 14;
// The weight of one event, so that it stays distinguishable from none for some windows.
inline constexpr std::uint32_t kOneEvent = 256;

// The value at `now` of a count that was `count` at `then`. With one event per tick it stays below 2^24.
inline std::uint32_t decayed(std::uint32_t count, std::uint64_t then, std::uint64_t now) {
  const std::uint64_t before = then >> kDecayWindowBits, after = now >> kDecayWindowBits;
  if (after <= before) return count;
  return after - before < 32 ? count >> (after - before) : 0;
}

}  // namespace tessera
