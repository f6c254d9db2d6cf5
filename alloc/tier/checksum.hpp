// The checksum of a page: 64-bit XXH3, with the widest vectors that the processor supports.
//
// Not the library's own build: Debian compiles it for baseline x86-64, at half the speed of a good disk; the sums are
// the same.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

std::uint64_t checksum_of(const void* start, Bytes bytes);

// The two ways to compute it. REQUIRES: for the wide one, a processor with AVX2, on x86-64.
std::uint64_t narrow_checksum(const void* start, std::size_t bytes);
std::uint64_t wide_checksum(const void* start, std::size_t bytes);

}  // namespace tessera
