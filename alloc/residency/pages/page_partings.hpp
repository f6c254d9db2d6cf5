// Evictions where work may use pages without announcing it: unmap, copy, mark.
//
// A page is unmapped after the work queued at the time of the decision, and its bytes are read through another address
// of its frame. Writes of such work are part of the copy, or the page is gone before them: then the kernel faults, and
// the program gets an error. No byte is lost silently. An announced use maps the page again, at the same frame
// (docs/decisions/0027-unannounced-work.md).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"
#include "residency/pages/page_releases.hpp"

namespace tessera {

class PagePartings {
 public:
  PagePartings(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings, PageCopies& copies,
               PageLinks& links, PageReleases& releases)
      : machine_(machine), ledger_(ledger), mappings_(mappings), copies_(copies), links_(links), releases_(releases) {}

  // kResident -> kParting: host frames are taken as PageMover::copy_out() does, and nothing is queued.
  Result<std::size_t> begin(std::span<const PageRef> pages, Location to);
  // The same for a page that is checked when it is unmapped, as of Page::eviction.asked, which the caller has set.
  Status begin_check(PageRef page);
  // kParting -> kApart behind the closed gate, or -> kResident where the run is held or was used since as_of(), or the
  // driver refuses; dead ones are discarded. REQUIRES: PageMappings::open_aliases(); work up to as_of() is over.
  // Errors: as PageMover::vacate().
  Status unmap(std::span<const PageRef> pages);
  // kApart -> kApartEvicting; -> kResident where the copies cannot be queued. REQUIRES: begin(); the pages are one
  // batch with one target memory.
  Status copy(std::span<const PageRef> pages);
  // kApart, or kApartEvicting whose copy is done -> kCold, or kEmpty of a dead run: the frame goes back.
  Status evict(PageRef page);
  Status give_up(PageRef page);  // -> kEmpty. REQUIRES: what is in flight for it is over or never will be
  // Maps pages that are apart at their own addresses again, on the same frames. Transfers in flight go on, but their
  // results are not used (Page::eviction.recalled). Errors: the driver's; all pages are still apart then.
  Status bring_back(std::span<const PageRef> pages);

 private:
  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  PageCopies& copies_;
  PageLinks& links_;
  PageReleases& releases_;
};

}  // namespace tessera
