// The size classes of requests.
//
// A block of up to 1 MiB is a slot of a slab. Slot classes are multiples of 512 bytes, four per doubling, so
// above 2 KiB at most a fifth of a slot is wasted. Two blocks of 1 MiB, a common size, share a page. Above 1
// MiB a block is a run of base pages and its class is the number of pages, except in bundles, where blocks are
// packed by their size (bundle.hpp). The table is generated.
//
// Thread safety: values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera {

inline constexpr Bytes kBlockAlignment = 512_B;
inline constexpr Bytes kSlotLimit = 1_MiB;      // larger requests are not served by slots
inline constexpr Bytes kLargestBlock = 64_TiB;  // a larger request is invalid

namespace size_classes {

// The class after `bytes`: larger by a quarter of the power of two at or below it, but by at least 512.
constexpr std::uint64_t after(std::uint64_t bytes) {
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  return bytes + (step < kBlockAlignment.value() ? kBlockAlignment.value() : step);
}

constexpr std::uint32_t count() {
  std::uint32_t classes = 1;
  for (std::uint64_t bytes = kBlockAlignment.value(); bytes < kSlotLimit.value(); bytes = after(bytes)) {
    ++classes;
  }
  return classes;
}

}  // namespace size_classes

inline constexpr std::uint32_t kSlotClasses = size_classes::count();

inline constexpr std::array<Bytes, kSlotClasses> kSlotBytes = [] {
  std::array<Bytes, kSlotClasses> table{};
  std::uint64_t bytes = kBlockAlignment.value();
  for (Bytes& entry : table) {
    entry = Bytes(bytes);
    bytes = size_classes::after(bytes);
  }
  return table;
}();

static_assert(kSlotClasses == 40 && kSlotBytes.front() == 512_B && kSlotBytes.back() == 1_MiB);
static_assert(kSlotBytes[3] == 2_KiB && kSlotBytes[4] == 2560_B && kSlotBytes[8] == 5_KiB);

struct SizeClass {
  std::uint32_t index = 0;  // below kSlotClasses a slot class; from there on one base page, two, ...

  constexpr auto operator<=>(const SizeClass&) const = default;
  constexpr bool is_slot() const { return index < kSlotClasses; }
  constexpr Bytes bytes() const { return is_slot() ? kSlotBytes[index] : kBasePage * (index - kSlotClasses + 1); }
};

// The smallest class that holds `bytes`; empty for zero and above kLargestBlock.
constexpr std::optional<SizeClass> size_class_for(Bytes bytes) {
  if (!bytes || bytes > kLargestBlock) return std::nullopt;
  if (bytes > kSlotLimit) {
    const std::uint64_t pages = round_up(bytes, kBasePage) / kBasePage;
    return SizeClass{kSlotClasses - 1 + static_cast<std::uint32_t>(pages)};
  }
  const std::uint64_t last = bytes.value() - 1;
  // Linear up to 2 KiB; above, the two bits below the leading one select the quarter.
  if (last < 2048) return SizeClass{static_cast<std::uint32_t>(last / 512)};
  const auto shift = static_cast<std::uint32_t>(std::bit_width(last)) - 3;
  return SizeClass{4 * (shift - 9) + static_cast<std::uint32_t>((last >> shift) & 3) + 4};
}

}  // namespace tessera
