// Fetches where work may use pages without announcing it: copy, map, mark.
//
// The copy is made to another address of the frame (DeviceTier), and the frame is mapped at the page's own address when
// the bytes are there. Until then unannounced work that uses the page faults, as it does while the page is away; if the
// page were mapped, it would read what the frame held before, and the copy would overwrite what it wrote. An announced
// use maps the page at once: it is queued behind the copy (docs/decisions/0027-unannounced-work.md).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>

#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_mappings.hpp"
#include "residency/pages/page_mover.hpp"
#include "residency/pages/page_partings.hpp"

namespace tessera {

class PageArrivals {
 public:
  PageArrivals(PageLedger& ledger, PageMappings& mappings, PageLinks& links, PageMover& mover, PagePartings& partings)
      : ledger_(ledger), mappings_(mappings), links_(links), mover_(mover), partings_(partings) {}

  // kCold and near -> kApartFetching; -> kFetching, as PageMover::mount() does, from the first page on whose frame
  // cannot be mapped twice. Errors: as there; pages done before it stay done.
  Status begin(std::span<const PageRef> pages);
  // kApartFetching -> kResident. A page that cannot be mapped becomes kCold again, and its run is not prefetched any
  // more. REQUIRES: the copies are done. Errors: the driver's, after all were tried.
  Status land(std::span<const PageRef> pages);

 private:
  Status fetch(std::span<const PageRef> batch);
  Status give_up(PageRef page);

  PageLedger& ledger_;
  PageMappings& mappings_;
  PageLinks& links_;
  PageMover& mover_;
  PagePartings& partings_;
};

}  // namespace tessera
