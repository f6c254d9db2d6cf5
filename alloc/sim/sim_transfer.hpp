// Copies, fills and fingerprints as work for the engines.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/driver.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

// REQUIRES: `to` and `from` have the same size.
SimWork make_transfer(const char* name, std::span<std::byte> to, std::span<const std::byte> from);

// Sets all elements of `width` bytes to the low bytes of `value`.
// REQUIRES: width is 1, 2 or 4; `to` holds whole elements.
SimWork make_fill(std::span<std::byte> to, std::uint32_t value, std::uint32_t width);

// The fingerprints of all parts of the ranges, one after another. REQUIRES: `to` has room for them.
SimWork make_fingerprints(std::vector<std::span<const std::byte>> ranges, Fingerprint* to);

}  // namespace tessera
