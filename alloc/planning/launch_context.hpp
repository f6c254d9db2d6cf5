// A launch is recognised by its context: one hash over its signature and those before it, kContext in all.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr std::size_t kContext = 8;

// Adds a signature to the hash. Signatures are already hashes; one multiplication makes the result depend on
// their order.
inline std::uint64_t mix_into_context(std::uint64_t context, std::uint64_t signature) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const std::uint64_t hash = (context ^ signature) * kOdd;
  return hash ^ (hash >> 32);
}

}  // namespace tessera
