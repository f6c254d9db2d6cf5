// What is searched for (runs_by_trait.hpp): pages that are kResident, those of them that also have a copy in a lower
// tier, pages that are kCold, by where their bytes are, and pages that are kZeroCopy or kReachable.
//
// Not a Location: a trait says what could be done with a page, which takes its state and all its frames to know.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

enum class PageTrait : std::uint8_t {
  kResident,
  kCopyInPeer,
  kCopyInHost,
  kCopyInFile,
  kColdInPeer,
  kColdInHost,
  kZeroCopy,
  kReachable,
};
inline constexpr std::size_t kPageTraits = 8;

}  // namespace tessera
