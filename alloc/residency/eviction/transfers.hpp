// Transfers between the tiers, in parts: what starts them, the list of those in flight, and what finishes them.
//
// PageMoves take one page one step. These parts know which pages have a step pending and what follows from it. A part
// refers to those before it. They evict nothing to make room (device_evictor.hpp).
//
// Thread safety: none; the engine's lock. Invariants: validate().
#pragma once

#include <atomic>

#include "residency/engine.hpp"
#include "residency/eviction/eviction_checks.hpp"
#include "residency/eviction/onward_pages.hpp"
#include "residency/eviction/pages_in_flight.hpp"
#include "residency/eviction/parted_evictions.hpp"
#include "residency/eviction/run_releases.hpp"
#include "residency/eviction/transfer_ends.hpp"
#include "residency/eviction/transfer_starts.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

struct Transfers {
  using Await = TransferEnds::Await;
  using Mapped = TransferStarts::Mapped;

  // `published`: the number of transfers, for readers without the lock.
  Transfers(Engine& engine, PageMoves& moves, std::atomic<std::uint32_t>& published)
      : in_flight(published),
        starts(engine, moves, in_flight),
        checks(moves, in_flight, starts),
        parted(engine, moves, in_flight, checks),
        onward(engine, moves, starts),
        ends(engine, moves, in_flight, checks, parted, onward),
        releases(moves, onward, ends) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  PagesInFlight in_flight;
  TransferStarts starts;
  EvictionChecks checks;
  PartedEvictions parted;
  OnwardPages onward;
  TransferEnds ends;
  RunReleases releases;

  bool any() const { return in_flight.any(); }
  // The run is about to be removed.
  void forget(const Run& run) {
    in_flight.forget(run);
    onward.forget(run);
  }
  // The run has become a row: what is in flight for its pages is in flight for those of its parts.
  void follow_row(const Run& row) {
    in_flight.follow_row(row);
    onward.follow_row(row);
  }
};

}  // namespace tessera
