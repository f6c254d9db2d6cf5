// The end of a page's stay on the device, and what keeps it there.
//
// Thread safety: none; the engine's lock. REQUIRES of all calls: the gate is closed, or the page is apart.
#pragma once

#include <span>

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_fingerprints.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageReleases {
 public:
  PageReleases(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings, PageCopies& copies,
               PageFingerprints& fingerprints, PageLinks& links)
      : machine_(machine),
        ledger_(ledger),
        mappings_(mappings),
        copies_(copies),
        fingerprints_(fingerprints),
        links_(links) {}

  enum class After : std::uint8_t { kCold, kEmpty, kGone };  // the state without the frame
  // Unmaps the pages once per contiguous stretch, and returns their frames. `after` is the caller's verdict: an
  // allocation may revive the run before its page is gone. REQUIRES: each page has been counted as missing by the
  // caller, in addition; they are in address order.
  Status unmap(std::span<const PageRef> pages, After after);
  // The same for a page that is unmapped already.
  Status release(PageRef page, After after);
  // kEvicting -> kResident: its copy is done, but it was used since. Drops the copy.
  Status forward(PageRef page);
  // kParting -> kResident.
  Status stay(PageRef page);
  // kCold or kLost -> kEmpty; nothing is kept.
  Status discard(PageRef page);

 private:
  Status keep(PageRef page);

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  PageCopies& copies_;
  PageFingerprints& fingerprints_;
  PageLinks& links_;
};

}  // namespace tessera
