// Copies and fills as work for the engines: bytes moved and set, at the pace of a link.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "driver/sim_work.hpp"

namespace tessera {

// How fast a copy engine may be. REQUIRES: the clock outlives the work that is paced by it.
struct SimPace {
  const Clock* clock = nullptr;
  std::uint64_t bytes_per_second = 0;  // 0: as fast as memcpy
};

// REQUIRES: `to` and `from` have the same size.
SimWork make_transfer(const char* name, std::span<std::byte> to, std::span<const std::byte> from,
                      SimPace pace);

// Sets all elements of `width` bytes to the low bytes of `value`.
// REQUIRES: width is 1, 2 or 4; `to` holds whole elements.
SimWork make_fill(std::span<std::byte> to, std::uint32_t value, std::uint32_t width);

}  // namespace tessera
