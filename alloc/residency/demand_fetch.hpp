// A call that waits until the runs that it uses are in device memory.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "residency/locked_engine.hpp"
#include "residency/recomputation.hpp"

namespace tessera {

class DemandFetch {
 public:
  // REQUIRES: both outlive it.
  DemandFetch(LockedEngine& locked, Recomputation& recomputation) : locked_(locked), recomputation_(recomputation) {}

  // On success the runs are present for work on `stream` (kNoStream: they are there), and held: the caller lets go.
  // `held` is called before the first callback: from then on the runs cannot be removed. Errors: those of
  // Residency::begin_use.
  Status fetch_and_hold(Runs runs, StreamId stream, Oversized oversized, const Held& held);
  // Looks again which pages of partial blocks are best on the device, which may wait for all work.
  void review_split();

 private:
  std::optional<Bytes> wait_for_others(Runs runs) const EXCLUDES_LOCK(locked_.mutex);
  Status await_news(const Status& in_the_way, std::uint64_t& tries);
  void note_stall(const Stall& stall, Run& run) REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
  Recomputation& recomputation_;
};

}  // namespace tessera
