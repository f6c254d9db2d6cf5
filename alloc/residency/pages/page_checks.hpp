// Whether a page's old copy still equals its bytes: fingerprints of pages that are to be evicted.
//
// When a page with a fingerprint of its copy is to be evicted again, another is computed behind its users, as a copy
// would be. If they are equal, the copy is as good as one made at that moment, and no better: a later use makes the
// page stay, as it does for a copy (PageMover::vacate).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_fingerprints.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_machine.hpp"

namespace tessera {

class PageChecks {
 public:
  PageChecks(const PageMachine& machine, PageLedger& ledger, PageCopies& copies, PageFingerprints& fingerprints,
             PageLinks& links)
      : machine_(machine), ledger_(ledger), copies_(copies), fingerprints_(fingerprints), links_(links) {}

  // Decides whether its next copy gets a fingerprint, so that the page can be checked at its next eviction.
  void plan_fingerprint(PageRef page);
  // Whether it is unknown if the copy is valid, a check is possible, and it is likely to cost less than a copy there.
  bool is_worthwhile(PageRef page, Location to);
  // kResident -> kChecking, kApart -> kApartChecking, as of Page::eviction.asked, which the caller has set, for as many
  // of the first pages as possible. Returns how many; 0 if none is possible now. REQUIRES: is_worthwhile(); the pages
  // are at most one batch, and the outbound stream already waits for their users.
  std::size_t begin(std::span<const PageRef> pages);
  // kChecking -> kResident, or kApartChecking -> kApart, as PageMover::finish_fetch. Afterwards
  // Page::is_unchanged() if the copy is valid; otherwise the copy is gone. A recalled page has neither result.
  Result<bool> finish(PageRef page, bool wait);

 private:
  const PageMachine& machine_;
  PageLedger& ledger_;
  PageCopies& copies_;
  PageFingerprints& fingerprints_;
  PageLinks& links_;
};

}  // namespace tessera
