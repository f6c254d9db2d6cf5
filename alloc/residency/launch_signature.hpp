// What a launch is known by: its work and the sizes of its runs, in the order of their roles.
//
// Runs of one base page come last, and play no part (conductor.hpp). Of the others the order tells which of a launch's runs
// is which in the next iteration. An address may be another each time, and what a run is for is not, so that goes first.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera {

struct RunRole {
  Bytes bytes;
  TagId tag;
  bool writes = false;
  std::uint64_t name = 0;  // Run::name

  bool is_small() const { return bytes <= kBasePage; }
  bool operator==(const RunRole&) const = default;
  auto operator<=>(const RunRole& other) const {
    if (is_small() != other.is_small()) return is_small() <=> other.is_small();
    if (bytes != other.bytes) return bytes <=> other.bytes;
    if (tag != other.tag) return tag <=> other.tag;
    if (writes != other.writes) return writes <=> other.writes;
    return name <=> other.name;
  }
};

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
