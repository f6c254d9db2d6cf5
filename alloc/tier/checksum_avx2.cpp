// Compiled for AVX2 where it exists (CMakeLists.txt). Includes nothing of ours: the linker could keep the copy of an
// inline function compiled here for all callers.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace tessera {

std::uint64_t wide_checksum(const void* start, std::size_t bytes) { return XXH3_64bits(start, bytes); }

}  // namespace tessera
