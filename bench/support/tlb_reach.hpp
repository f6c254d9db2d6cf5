// How many TLB entries a working set takes.
//
// This is a model. Mosaic (Ausavarungnirun et al., MICRO 2017) has two kinds of entries, for base and for large pages,
// and its simulator has 64 and 16 of them. A page of 4 to 16 MiB takes as many entries as base pages of its size would.
// The capacity of a real GPU's TLB, whether it merges neighbours by itself, and the cost of a miss are not published,
// so the model counts entries and does not estimate time.
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
};

struct TlbReach {
  Bytes mapped;
  std::uint64_t base = 0, large = 0;  // entries, as the pages are mapped
  std::uint64_t base_only = 0;        // if all pages were base pages
  std::uint64_t merged = 0;           // as mapped, but each full window of base pages as one entry: Mosaic's coalescing
  std::uint64_t large_only = 0;       // if each non-empty window were one large page
  Bytes large_only_mapped;            // bytes that these would map

  std::uint64_t entries() const { return base + large; }
  // The fraction of `mapped` that the entries of such a TLB cover, if all of it is equally likely to be used.
  double covered() const;
  double covered_base_only() const;
  double covered_large_only() const;
};

// REQUIRES: no two pages overlap; large pages are aligned to windows (multiples of 32 MiB).
TlbReach reach_of(std::span<const MappedPage> pages);

}  // namespace tessera::bench
