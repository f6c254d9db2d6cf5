// Evicting a run without a copy and recomputing it by its callback: the steps of its pages.
//
// Thread safety: none; the engine's lock.
#pragma once

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_releases.hpp"

namespace tessera {

class PageRecomputes {
 public:
  PageRecomputes(const PageMachine& machine, PageLedger& ledger, PageCopies& copies, PageLinks& links,
                 PageReleases& releases)
      : machine_(machine), ledger_(ledger), copies_(copies), links_(links), releases_(releases) {}

  // Every page of the run -> kGone, its frames and copies freed. Does nothing when the run is in use, was used since
  // Run::quiet, or cannot be recomputed (Run::can_drop()). Errors: kNotReady (Gate), the driver's.
  Status drop(Run& run);
  // kBlank -> kGone, or kEmpty when the run is dead. REQUIRES: no queued work uses these pages.
  Status undo_mount(Run& run);
  // kBlank -> kRecomputing: done when the work queued on the stream so far is.
  Status await(PageRef page, StreamId stream);
  Result<bool> finish(PageRef page, bool wait);  // as PageMover::finish_fetch
  Status accept(PageRef page);                   // kBlank -> kResident: the contents do not matter

 private:
  const PageMachine& machine_;
  PageLedger& ledger_;
  PageCopies& copies_;
  PageLinks& links_;
  PageReleases& releases_;
};

}  // namespace tessera
