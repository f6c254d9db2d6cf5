// Copies and fills as work for the engines: pieces of physical memory, moved and paced.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "driver/sim_work.hpp"

namespace tessera {

using SimPieces = std::vector<std::span<std::byte>>;

// How fast a copy engine may be. REQUIRES: the clock outlives the work that is paced by it.
struct SimPace {
  const Clock* clock = nullptr;
  std::uint64_t bytes_per_second = 0;  // 0: as fast as memcpy
};

// Moves as many bytes as `to` has. REQUIRES: `from` has as many.
SimWork make_transfer(const char* name, SimPieces to, SimPieces from, SimPace pace);

// Sets all elements of `width` bytes to the low bytes of `value`.
// REQUIRES: width is 1, 2 or 4; each piece holds whole elements.
SimWork make_fill(SimPieces to, std::uint32_t value, std::uint32_t width);

}  // namespace tessera
