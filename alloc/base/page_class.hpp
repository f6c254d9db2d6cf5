// The size classes of pages, and how a run is cut into them.
//
// A page is a unit of virtual address space backed by exactly one frame. Frames cannot be split or mapped in part, so a
// page is also the unit in which bytes move. A driver takes about as long to map a large page as a small one, so a run
// has few: large ones, then at most one of each smaller size (docs/decisions/0040-page-sizes.md). Several sizes in one
// address space, with a soft guarantee of contiguity, are Mosaic's (Ausavarungnirun et al., MICRO 2017).
//
// Thread safety: values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

// In ascending order; each is twice as large as the one before.
enum class PageClass : std::uint8_t { kBase, k4MiB, k8MiB, k16MiB, kLarge };

inline constexpr std::array kPageClasses = {PageClass::kBase, PageClass::k4MiB, PageClass::k8MiB, PageClass::k16MiB,
                                            PageClass::kLarge};
inline constexpr std::array kPageClassesDescending = {PageClass::kLarge, PageClass::k16MiB, PageClass::k8MiB,
                                                      PageClass::k4MiB, PageClass::kBase};
inline constexpr Bytes kBasePage = 2_MiB;
inline constexpr Bytes kLargePage = 32_MiB;
inline constexpr std::uint64_t kBasePerLarge = kLargePage / kBasePage;

constexpr std::size_t index_of(PageClass page_class) { return static_cast<std::size_t>(page_class); }
constexpr Bytes page_bytes(PageClass page_class) { return kBasePage * (std::uint64_t{1} << index_of(page_class)); }
static_assert(page_bytes(PageClass::kLarge) == kLargePage);
// REQUIRES: not kBase.
constexpr PageClass smaller(PageClass page_class) { return static_cast<PageClass>(index_of(page_class) - 1); }
// REQUIRES: `bytes` is the size of a class.
constexpr PageClass class_of(Bytes bytes) { return static_cast<PageClass>(std::countr_zero(bytes / kBasePage)); }

// The pages of a run, in address order from large ones to base pages.
struct RunShape {
  std::uint32_t large = 0;
  std::uint32_t base = 0;
  std::array<std::uint32_t, 3> between{};  // of 16, 8 and 4 MiB

  constexpr bool operator==(const RunShape&) const = default;
  constexpr std::uint32_t count(PageClass page_class) const {
    if (page_class == PageClass::kLarge) return large;
    return page_class == PageClass::kBase ? base : between[index_of(PageClass::k16MiB) - index_of(page_class)];
  }
  constexpr std::uint32_t pages() const { return large + between[0] + between[1] + between[2] + base; }
  constexpr Bytes bytes() const { return kLargePage * large + kBasePage * tail(); }
  // What follows the large pages, in units of a base page.
  constexpr std::uint64_t tail() const { return 8ULL * between[0] + 4ULL * between[1] + 2ULL * between[2] + base; }
  constexpr PageClass page_class(std::uint32_t page) const {
    auto page_class = PageClass::kLarge;
    for (; page_class != PageClass::kBase && page >= count(page_class); page_class = smaller(page_class)) {
      page -= count(page_class);
    }
    return page_class;
  }
  // Offset of page number `page` from the run's first address.
  constexpr Bytes offset(std::uint32_t page) const {
    Bytes bytes;
    auto page_class = PageClass::kLarge;
    for (; page_class != PageClass::kBase && page >= count(page_class); page_class = smaller(page_class)) {
      bytes += page_bytes(page_class) * count(page_class);
      page -= count(page_class);
    }
    return bytes + page_bytes(page_class) * page;
  }
};

// The shape of fewest pages that holds `bytes` with less than one base page of waste.
constexpr RunShape shape_for(Bytes bytes) {
  const std::uint64_t units = round_up(bytes, kBasePage) / kBasePage;
  const auto bit = [units](PageClass page_class) {
    return static_cast<std::uint32_t>(units >> index_of(page_class) & 1);
  };
  return {.large = static_cast<std::uint32_t>(units / kBasePerLarge),
          .base = bit(PageClass::kBase),
          .between = {bit(PageClass::k16MiB), bit(PageClass::k8MiB), bit(PageClass::k4MiB)}};
}

// The bytes of the fewest last pages of a run of `bytes` that have at least `wanted`: what leaves when a part is
// evicted.
constexpr Bytes last_pages(Bytes bytes, Bytes wanted) {
  const RunShape shape = shape_for(bytes);
  Bytes sum;
  for (std::uint32_t page = shape.pages(); page > 0 && sum < wanted;) sum += page_bytes(shape.page_class(--page));
  return sum;
}

}  // namespace tessera
