// What a launch is known by: its work and the sizes of its runs, in the order of their roles.
//
// Runs of one base page come last, and play no part (conductor.hpp). Of the others the order tells which of a launch's runs
// is which in the next iteration. An address may be another each time, and what a run is for is not, so that goes first; those
// that are alike stay in the order in which the launch has them, but for runs with a name of their own.
//
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <cstdint>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera {

// Names that owners give (RunOwner::name) begin here: no address is as high.
inline constexpr std::uint64_t kGivenNames = std::uint64_t{1} << 63;

struct RunRole {
  bool small = false;
  Bytes bytes;
  TagId tag;
  bool writes = false;
  std::uint64_t given_name = 0;

  auto operator<=>(const RunRole&) const = default;
};

// Uses of equal roles are in the order of their launch: sort them stably.
inline RunRole role_of(Bytes bytes, TagId tag, bool writes, std::uint64_t name) {
  return {bytes <= kBasePage, bytes, tag, writes, name < kGivenNames ? 0 : name};
}

// `bytes_of` tells those of a use. REQUIRES: the uses of a launch that play a part, in the order of their roles.
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
