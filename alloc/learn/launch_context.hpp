// A launch is recognised by its signature and those of the launches before it, kContext in all, as one hash.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr std::size_t kContext = 8;

// Of one signature more. They are hashes already: one multiplication keeps their order apart.
inline std::uint64_t mix_into_context(std::uint64_t context, std::uint64_t signature) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const std::uint64_t hash = (context ^ signature) * kOdd;
  return hash ^ (hash >> 32);
}

}  // namespace tessera
