// Compiled for AVX2 where there is such a thing (CMakeLists.txt). It includes nothing of ours: an
// inline function compiled here could be the copy that the linker keeps for everybody.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace tessera {

std::uint64_t wide_checksum(const void* start, std::size_t bytes) {
  return XXH3_64bits(start, bytes);
}

}  // namespace tessera
