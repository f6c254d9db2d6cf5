#include "residency/pages/page_fingerprints.hpp"

#include <utility>
#include <vector>

namespace tessera {

void PageFingerprints::queue(std::span<const PageRef> pages) {
  std::vector<DeviceRange> ranges;
  for (const PageRef& page : pages) {
    if (page->fingerprint.wanted) ranges.push_back({mappings_.bytes_at(page), page.bytes()});
  }
  if (ranges.empty()) return;
  const auto first = desk_.queue(ranges, machine_.lanes.outbound(kHostLane));
  if (!first) return;
  FingerprintDesk::Place place = *first;
  for (const PageRef& page : pages) {
    if (!page->fingerprint.wanted) continue;
    page->fingerprint.pending = place;
    place = FingerprintDesk::after(place, page.bytes());
  }
}

std::optional<Fingerprint> PageFingerprints::read(PageRef page) {
  if (!page->fingerprint.is_pending()) return std::nullopt;
  return desk_.read(std::exchange(page->fingerprint.pending, FingerprintDesk::kNowhere), page.bytes());
}

void PageFingerprints::drop(PageRef page) {
  if (!page->fingerprint.is_pending()) return;
  desk_.drop(std::exchange(page->fingerprint.pending, FingerprintDesk::kNowhere));
}

}  // namespace tessera
