// How many TLB entries a working set takes: one for each mapping that is present.
//
// A model. Mosaic (Ausavarungnirun et al., MICRO 2017) has two kinds of entries, for base and for
// large pages, as its simulator has: 64 and 16. A mapping takes one entry of its size; a large page
// on joined base frames is sixteen mappings. What a GPU's TLB really holds, whether it merges
// neighbours by itself, and what a miss costs is not published, so this counts and says nothing
// about time.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <span>

#include "base/page_class.hpp"
#include "base/units.hpp"

namespace tessera::bench {

inline constexpr std::uint64_t kBaseEntries = 64, kLargeEntries = 16;  // of Mosaic's simulator

struct MappedPage {
  Address address;
  PageClass page_class = PageClass::kBase;
  bool joined = false;  // a large page that is sixteen mappings
};

struct TlbReach {
  Bytes mapped;
  std::uint64_t base = 0, large = 0;  // entries, as the pages are mapped
  std::uint64_t base_only = 0;        // if all pages were base pages
  std::uint64_t merged =
      0;  // as mapped, with each full window of base pages as one: Mosaic's coalescing
  std::uint64_t large_only = 0;  // if each window with anything in it were one large page,
  Bytes large_only_mapped;       // which then maps so much

  std::uint64_t entries() const { return base + large; }
  // The part of `mapped` that the entries of such a TLB cover, where all of it is equally likely to
  // be used.
  double covered() const;
  double covered_base_only() const;
  double covered_large_only() const;
};

// REQUIRES: no two pages overlap; large pages lie on windows (multiples of 32 MiB).
TlbReach reach_of(std::span<const MappedPage> pages);

}  // namespace tessera::bench
