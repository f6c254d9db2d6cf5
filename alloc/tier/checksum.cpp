#include "tier/checksum.hpp"

#include <xxhash.h>

namespace tessera {
namespace {

#if defined(__x86_64__)
bool has_wide_vectors() { return __builtin_cpu_supports("avx2") != 0; }
#else
bool has_wide_vectors() { return false; }
#endif

}  // namespace

std::uint64_t checksum_of(const void* start, Bytes bytes) {
  static const auto compute = has_wide_vectors() ? wide_checksum : narrow_checksum;
  return compute(start, bytes.value());
}

std::uint64_t narrow_checksum(const void* start, std::size_t bytes) { return ::XXH3_64bits(start, bytes); }

}  // namespace tessera
