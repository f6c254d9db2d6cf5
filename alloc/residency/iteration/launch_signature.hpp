// The identity of a launch: its work and the sizes of its runs, in the order of their roles.
//
// Runs of one base page come last and are not part of it (iteration_tracker.hpp). For the others, the order decides
// which run of a launch corresponds to which in the next iteration. Addresses may change, but a run's purpose does not,
// so the role is compared first; runs with equal roles stay in launch order, unless they have names given by their
// owner.
//
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <cstdint>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera {

// Names given by owners (RunOwner::name) start here, above all addresses.
inline constexpr std::uint64_t kGivenNames = std::uint64_t{1} << 63;

struct RunRole {
  bool small = false;
  Bytes bytes;
  TagId tag;
  bool writes = false;
  std::uint64_t given_name = 0;

  auto operator<=>(const RunRole&) const = default;
};

// Uses of equal roles keep their order in the launch: sort them stably.
inline RunRole role_of(Bytes bytes, TagId tag, bool writes, std::uint64_t name) {
  return {bytes <= kBasePage, bytes, tag, writes, name < kGivenNames ? 0 : name};
}

// `bytes_of` returns the bytes of a use. REQUIRES: the uses of a launch that are part of the signature, in role order.
std::uint64_t signature_of(const void* work, const auto& uses, auto bytes_of) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  auto hash = reinterpret_cast<std::uint64_t>(work);
  for (const auto& use : uses) {
    hash = (hash ^ bytes_of(use).value()) * kOdd;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace tessera
