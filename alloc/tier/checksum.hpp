// The checksum of a page: XXH3 with 64 bits, by the widest vectors that the processor has.
//
// Why not the library's own: Debian builds it for the oldest x86-64, which is half as fast as a
// good disk is; the sums are the same.
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
