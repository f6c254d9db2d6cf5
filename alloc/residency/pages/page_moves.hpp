// The mechanism below all moves: each part takes pages one step, with no decisions of its own.
//
// A part refers to those before it. The callers decide which step is next: Transfers, and those that evict and fetch.
//
// Thread safety: none; the engine's lock.
#pragma once

#include "residency/pages/page_arrivals.hpp"
#include "residency/pages/page_checks.hpp"
#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_files.hpp"
#include "residency/pages/page_fingerprints.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_links.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"
#include "residency/pages/page_mover.hpp"
#include "residency/pages/page_partings.hpp"
#include "residency/pages/page_placeholders.hpp"
#include "residency/pages/page_recomputes.hpp"
#include "residency/pages/page_releases.hpp"
#include "residency/pages/page_swaps.hpp"
#include "residency/pages/page_zero_copy.hpp"

namespace tessera {

class PageMoves {
 public:
  // REQUIRES: all that the machine refers to outlives it. `wanted`: as PageFingerprints.
  explicit PageMoves(const PageMachine& with, RunsByTrait& by_trait, bool wanted = true)
      : machine(with), ledger(machine, by_trait), fingerprints(machine, mappings, wanted) {}
  PageMoves(const PageMoves&) = delete;
  PageMoves& operator=(const PageMoves&) = delete;

  const PageMachine machine;
  PageLedger ledger;
  PagePlaceholders placeholders{machine};
  PageMappings mappings{machine, placeholders, ledger};
  PageCopies copies{machine, ledger, mappings};
  PageFingerprints fingerprints;
  PageLinks links{machine, mappings, fingerprints};
  PageReleases releases{machine, ledger, mappings, copies, fingerprints, links};
  PageFiles files{machine, ledger, copies};
  PageSwaps swaps{machine, ledger, mappings, copies};
  PageZeroCopy zero_copy{machine, ledger, mappings, copies};
  PageMover mover{machine, ledger, mappings, copies, links, releases, swaps};
  PageChecks checks{machine, ledger, copies, fingerprints, links};
  PagePartings partings{machine, ledger, mappings, copies, links, releases};
  PageArrivals arrivals{ledger, mappings, links, mover, partings};
  PageRecomputes recomputes{machine, ledger, copies, links, releases};

  // Moves the run's mappings to another address. REQUIRES: no transfer of it is in flight, no work can use it. Errors:
  // the driver's, with nothing changed. A page that cannot be mapped at the new address is kApart until its next use;
  // one that was kZeroCopy is kLost.
  Status rehome(Run& run, Address to);
  void forget(Run& run);  // it is about to be removed

 private:
  Status uncover(Run& run);
};

}  // namespace tessera
