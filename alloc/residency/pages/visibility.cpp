#include "residency/pages/visibility.hpp"

#include <algorithm>

namespace tessera {
namespace {

// A program that names a block before each use does so again within a few times the distance of the last two, or within
// this many launches. One that gave the address away once does not.
constexpr std::uint64_t kGaps = 8, kLeastStale = 4096;

}  // namespace

Visibility visibility_of(const UseEvidence& evidence) {
  if (evidence.expected) return Visibility::kSeen;
  if (!evidence.named) return Visibility::kUnseen;
  return evidence.idle > std::max(kLeastStale, evidence.gap * kGaps) ? Visibility::kDoubtful : Visibility::kSeen;
}

}  // namespace tessera
