// The classes that requests are rounded to.
//
// Up to 1 MiB a block is a slot of a slab: multiples of 512 bytes, four classes per doubling, so at
// most a fifth of a slot is waste once a request is above 2 KiB. Two of 1 MiB, a size that programs
// like, share a page. Above it a block is a run of base pages, and the number of pages is the class
// (but for those in bundles, which have what they need: bundle.hpp). The table is generated.
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
inline constexpr Bytes kSlotLimit = 1_MiB;      // requests up to it are served by slots
inline constexpr Bytes kLargestBlock = 64_TiB;  // nothing larger is a size that can be meant

namespace size_classes {

// The class after `bytes`: a quarter of the power of two at or below it further, 512 at least.
constexpr std::uint64_t after(std::uint64_t bytes) {
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  return bytes + (step < kBlockAlignment.value() ? kBlockAlignment.value() : step);
}

constexpr std::uint32_t count() {
  std::uint32_t classes = 1;
  for (std::uint64_t bytes = kBlockAlignment.value(); bytes < kSlotLimit.value();
       bytes = after(bytes)) {
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
  std::uint32_t index = 0;  // below kSlotClasses a slot class; then one base page, two, ...

  constexpr auto operator<=>(const SizeClass&) const = default;
  constexpr bool is_slot() const { return index < kSlotClasses; }
  constexpr Bytes bytes() const {
    return is_slot() ? kSlotBytes[index] : kBasePage * (index - kSlotClasses + 1);
  }
};

// The smallest class that holds `bytes`; none for zero and for more than kLargestBlock.
constexpr std::optional<SizeClass> size_class_for(Bytes bytes) {
  if (!bytes || bytes > kLargestBlock) return std::nullopt;
  if (bytes > kSlotLimit) {
    const std::uint64_t pages = round_up(bytes, kBasePage) / kBasePage;
    return SizeClass{kSlotClasses - 1 + static_cast<std::uint32_t>(pages)};
  }
  const std::uint64_t last = bytes.value() - 1;
  // Linear up to 2 KiB; above, two bits below the leading one tell the quarter.
  if (last < 2048) return SizeClass{static_cast<std::uint32_t>(last / 512)};
  const auto shift = static_cast<std::uint32_t>(std::bit_width(last)) - 3;
  return SizeClass{4 * (shift - 9) + static_cast<std::uint32_t>((last >> shift) & 3) + 4};
}

}  // namespace tessera
