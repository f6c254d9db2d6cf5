#include "tlb_reach.hpp"

#include <algorithm>
#include <map>

namespace tessera::bench {
namespace {

double part(std::uint64_t held, std::uint64_t needed) {
  return needed == 0 ? 1 : std::min(1.0, static_cast<double>(held) / static_cast<double>(needed));
}

}  // namespace

double TlbReach::covered() const {
  const auto in_large = static_cast<double>((kLargePage * large).value());
  const auto in_base = static_cast<double>((kBasePage * base).value());
  return (in_large * part(kLargeEntries, large) + in_base * part(kBaseEntries, base)) / (in_large + in_base);
}
double TlbReach::covered_base_only() const { return part(kBaseEntries, base_only); }
double TlbReach::covered_large_only() const { return part(kLargeEntries, large_only); }

TlbReach reach_of(std::span<const MappedPage> pages) {
  TlbReach reach;
  std::map<std::uint64_t, std::uint64_t> base_pages;  // number present, by window
  for (const MappedPage& page : pages) {
    reach.mapped += page_bytes(page.page_class);
    if (page.page_class != PageClass::kLarge) {
      const std::uint64_t entries = page_bytes(page.page_class) / kBasePage;
      reach.base += entries;
      for (std::uint64_t i = 0; i < entries; ++i) {
        ++base_pages[(page.address + kBasePage * i).value() / kLargePage.value()];
      }
      continue;
    }
    ++reach.large_only;
    ++reach.merged;
    ++reach.large;
  }
  reach.base_only = reach.mapped / kBasePage;
  for (const auto& [window, present] : base_pages) {
    reach.merged += present == kBasePerLarge ? 1 : present;
    ++reach.large_only;
  }
  reach.large_only_mapped = kLargePage * reach.large_only;
  return reach;
}

}  // namespace tessera::bench
