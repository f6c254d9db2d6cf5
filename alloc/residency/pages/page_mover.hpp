// Moves pages onto the device and off it: frames, mappings and copies in their order, with no decisions of its own.
//
// Each call takes a page of a run from one legal state to the next (page_state.hpp). The order is: copy complete,
// unmap, mark; on the way back map, copy, mark. A call that fails leaves the page in its state, with the same valid
// copy; one for several pages does what it can.
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
#include "residency/pages/page_swaps.hpp"

namespace tessera {

class PageMover {
 public:
  PageMover(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings, PageCopies& copies,
            PageLinks& links, PageReleases& releases, PageSwaps& swaps)
      : machine_(machine),
        ledger_(ledger),
        mappings_(mappings),
        copies_(copies),
        links_(links),
        releases_(releases),
        swaps_(swaps) {}

  // Puts device frames under pages that are kEmpty (-> kResident), kCold and near (-> kFetching, the copy
  // is queued on an inbound stream) or kGone (-> kBlank). Access is set once per contiguous stretch.
  // With a backing tier kCold pages are there at once (-> kResident), and it REQUIRES what PageSwaps does.
  // Errors: kOutOfMemory when the device tier has no frame; pages done before it stay done.
  Status mount(std::span<const PageRef> pages);
  // kFetching -> kResident if the copy is done: true then. `wait`: wait for it. Errors: the driver's, with the page
  // unchanged.
  Result<bool> finish_fetch(PageRef page, bool wait);
  // kFetching -> kResident. REQUIRES: the copy is done.
  Status arrive(PageRef page);

  // kResident -> kEvicting, as of Page::copy.epoch, which the caller has set: as many of the first pages as there are
  // frames for, or one alone into a host staging frame. Returns how many. REQUIRES: the pages are at most one batch
  // (PageLinks::batch_of), and the outbound stream to that memory already waits for their users. Errors: kOutOfMemory
  // when the peers, or the host budget and the staging reserve, have no frame for the first.
  Result<std::size_t> copy_out(std::span<const PageRef> pages, Location to);
  // What proves that a page's copy is valid: its stamps; or that it was made, or found equal, behind all relevant work.
  enum class Proof : std::uint8_t { kStamps, kBytes };
  // Takes device frames away behind the closed gate: of dead pages (discarded), kResident pages with a valid copy,
  // kEvicting pages whose copy is done. Skips a page whose run is held or was used since Run::quiet; a kEvicting one is
  // then forwarded. Unmaps once per contiguous stretch. Errors: kNotReady (Gate), with nothing changed.
  Status vacate(std::span<const PageRef> pages, Proof proof = Proof::kStamps);

 private:
  Status mount_missing(std::span<const PageRef> pages);
  Status fill_frames(std::span<const PageRef> pages);
  enum class Verdict : std::uint8_t { kStay, kForward, kDiscard, kUnmap };
  Verdict judge(PageRef page, Proof proof) const;

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  PageCopies& copies_;
  PageLinks& links_;
  PageReleases& releases_;
  PageSwaps& swaps_;
};

}  // namespace tessera
