// The size classes of pages, and how a run is cut into them.
//
// A page is a unit of virtual address space backed by exactly one frame. Frames cannot be split or mapped in
// part, so a page is also the unit in which bytes move. Large pages amortise driver calls, which cost by their
// number and not by their size; base pages bound waste. The two-size scheme and its soft guarantee are Mosaic's
// (Ausavarungnirun et al., MICRO 2017).
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

enum class PageClass : std::uint8_t { kBase, kLarge };

inline constexpr std::array<PageClass, 2> kPageClasses = {PageClass::kBase, PageClass::kLarge};
inline constexpr Bytes kBasePage = 2_MiB;
inline constexpr Bytes kLargePage = 32_MiB;
inline constexpr std::uint64_t kBasePerLarge = kLargePage / kBasePage;

constexpr Bytes page_bytes(PageClass page_class) { return page_class == PageClass::kLarge ? kLargePage : kBasePage; }
constexpr std::size_t index_of(PageClass page_class) { return static_cast<std::size_t>(page_class); }
constexpr const char* name_of(PageClass page_class) { return page_class == PageClass::kLarge ? "large" : "base"; }

// The pages of a run in address order: `large` large pages, then `base` base pages.
struct RunShape {
  std::uint32_t large = 0;
  std::uint32_t base = 0;

  constexpr bool operator==(const RunShape&) const = default;
  constexpr std::uint32_t pages() const { return large + base; }
  constexpr Bytes bytes() const { return kLargePage * large + kBasePage * base; }
  constexpr PageClass page_class(std::uint32_t page) const {
    return page < large ? PageClass::kLarge : PageClass::kBase;
  }
  // Offset of page number `page` from the run's first address.
  constexpr Bytes offset(std::uint32_t page) const {
    return page < large ? kLargePage * page : kLargePage * large + kBasePage * (page - large);
  }
};

// The shape that holds `bytes` with less than one base page of waste.
constexpr RunShape shape_for(Bytes bytes) {
  const std::uint64_t base = round_up(bytes, kBasePage) / kBasePage;
  return {static_cast<std::uint32_t>(base / kBasePerLarge), static_cast<std::uint32_t>(base % kBasePerLarge)};
}

}  // namespace tessera
