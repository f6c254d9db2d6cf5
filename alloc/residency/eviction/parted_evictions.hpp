// Evictions of pages that work may use unannounced: the host waits for the work before them, unmaps them, and then
// starts their copies.
//
// A copy queued behind that work would start by itself, but with the page still mapped. So each poll of the transfers
// first checks for the end of that work, and a call that needs room waits for it before the copy.
//
// Few copies are in flight at once, and none that is not needed while pages are mapped. A driver writes the access of a
// mapping with the copy engine that copies to the host, behind the copies queued there: on an H200 that takes 1 ms
// while the queue is never empty, and 25 us while it is (docs/hardware.md). Calls that map hold the lock, so no copy is
// added meanwhile, and only the first of them waits.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/eviction_checks.hpp"
#include "residency/eviction/pages_in_flight.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class PartedEvictions {
 public:
  // While one exists, only copies begin that a call waits for: a fetch maps pages next.
  class Held {
   public:
    explicit Held(PartedEvictions& evictions) : evictions_(evictions) { evictions_.holds_ += 1; }
    ~Held() { evictions_.holds_ -= 1; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    PartedEvictions& evictions_;
  };

  PartedEvictions(Engine& engine, PageMoves& moves, PagesInFlight& in_flight, EvictionChecks& checks)
      : engine_(engine), moves_(moves), in_flight_(in_flight), checks_(checks) {}

  // As TransferStarts::copy_out().
  Result<std::size_t> begin(std::span<const PageRef> batch, Location to);
  // As EvictionChecks::begin(), for all pages that can part; no page is left in the list.
  Bytes begin_checks(std::vector<PageRef>& pages, std::uint64_t mask, Epoch used, Location to);
  // Unmaps pages that are kParting and starts their evictions, if the work before them is over and few enough copies
  // are in flight. Errors: the first, after all were tried; a page that cannot be evicted stays.
  Status go_apart();
  // On return the oldest page has left the list, or the wait has failed. REQUIRES: there is one.
  Status await_oldest();
  // Waits until copies of this many bytes are in flight, or as many as may be, or no page is left.
  Status await_copies(Bytes bytes);
  // Maps pages that are apart again. Errors: the driver's; the pages are still apart then.
  Status recall(std::span<const PageRef> pages) { return moves_.partings.bring_back(pages); }

 private:
  // As go_apart(), while fewer than `most` bytes are being copied.
  Status go_apart(Bytes most);
  Status copy(std::span<const PageRef> pages);

  Engine& engine_;
  PageMoves& moves_;
  PagesInFlight& in_flight_;
  EvictionChecks& checks_;
  int holds_ = 0;
};

}  // namespace tessera
