// State that all parts of the engine share: the machine below them, and what they know of the program.
//
// The parts form a chain in which each calls only those before it: PageMoves, Transfers, HostEvictor, RunEviction,
// PlannedEvictions, DeviceEvictor, PartialRuns, SplitReview, Fetcher, PlanExecutor. LockedEngine owns all of them with
// their lock. Clang's analysis does not follow a mutex into objects that refer to each other, so nothing here is
// annotated: each part is an annotated member of LockedEngine.
//
// Thread safety: none; the engine's lock. The objects that it refers to have rules of their own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/decayed_count.hpp"
#include "base/log.hpp"
#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "policy/snapshot.hpp"
#include "residency/eviction/spare_room.hpp"
#include "residency/held_uses.hpp"
#include "residency/iteration/iteration_tracker.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/recompute.hpp"
#include "residency/pages/run.hpp"
#include "residency/pages/runs_by_trait.hpp"
#include "residency/pages/visibility.hpp"
#include "residency/residency_options.hpp"
#include "residency/residency_stats.hpp"
#include "residency/streams/gate.hpp"
#include "residency/streams/stall.hpp"
#include "residency/streams/stream_table.hpp"
#include "residency/streams/stream_waits.hpp"
#include "residency/streams/waiting_kernels.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

// How often the run was used recently, as of epoch `now`.
inline std::uint32_t often_by(const Run& run, Epoch now) {
  return decayed(run.uses.often, run.uses.counted.value(), now.value());
}

struct Engine {
  Driver& driver;
  const DeviceId device;
  const TierStack tiers;
  EventLog& log;
  const ResidencyOptions& options;
  const CopyLanes& lanes;
  StreamTable& streams;
  StreamWaits& waits;
  IterationTracker& tracker;
  Gate& gate;
  const HeldUses& held_uses;
  const std::atomic<bool>& automatic;  // live runs may be evicted automatically
  const std::atomic<bool>& unseen;     // work may use a run without announcing it
  std::atomic<bool>& any_in_host;      // pages may be kZeroCopy or kReachable, for threads without the lock
  WaitingKernels& waiting;

  RunList runs{};          // those with pages
  RunList rows{};          // the runs that some of them are parts of
  RunsByTrait by_trait{};  // of `runs`: the same indices
  Bytes pinned_bytes{};    // of runs with a pin
  ResidencyStats stats{};
  IterationTracker::Orders orders{};  // not carried out yet, oldest first
  RecomputeTurn turn{};
  SpareRoom spare{};
  Stall* stall = nullptr;  // of the call that fetches at the moment

  // Runs with such a page, in list order.
  RunsByTrait::Range with(PageTrait trait) const { return by_trait.of(runs, trait); }
  // Fences all uses and frees noted so far.
  Status fence_all() { return fence(StreamTable::kAllStreams); }
  // Fences the slots of a mask. Errors: kNotReady where a launch does not return within `patience`.
  Status fence(std::uint64_t slots) {
    const Gate::Closed closed(gate);
    return closed.is_closed() ? streams.fence(slots, StreamTable::kAllSoFar) : closed.status();
  }
  // Unannounced kernels may use the run through an address that a kernel wrote; they follow within a few launches.
  // False while that is still likely, and for a run that no launch has named.
  bool is_settled(const Run& run) const {
    if (!unseen.load() || run.is_dead()) return true;
    if (visibility_of(run) == Visibility::kUnseen) return false;
    return streams.is_past_grace(run.users(), run.last_work(), options.grace);
  }
  // Whether launches show the uses of a run that lives: kSeen where no difference is made.
  Visibility visibility_of(const Run& run) const {
    if (!options.by_visibility || !unseen.load()) return Visibility::kSeen;
    return tessera::visibility_of(evidence_of(run));
  }
  // A launch that names all of a row names its parts. What is foreseen for the block before says nothing of this one.
  UseEvidence evidence_of(const Run& run) const {
    const Run &whole = run.whole(), &known = run.learned();
    const Epoch now = streams.epoch();
    const bool foreseen = known.uses.named && run.is_of_its_block(known.uses.foreseen);
    return {.named = run.is_named(),
            .idle = now - std::min(now, std::max(run.used.load(), whole.used.load())),
            .gap = known.gap.load(),
            .expected = foreseen && !tracker.next_use(known, now).is_never()};
  }
  // REQUIRES: the gate is closed.
  Status await_all_work() {
    const StallWait waiting(stall, StallCause::kWork);
    return waits.wait_for_all(streams.open_epoch());
  }
  // The policy's picture of a run, without its byte counts.
  RunPicture picture_of(const Run& run, Epoch now) const {
    const bool dead = run.is_dead();  // first: the last free of a dead run has been noted by then
    const Epoch used = run.last_work();
    const Run& known = run.learned();
    return {.run = run.index,
            .used = used,
            .gap = known.gap.load(),
            .often = often_by(known, now),
            .next = tracker.next_use(known, now),
            .idle = streams.passed(run.users(), used),
            .dead = dead,
            .tag = run.tag};
  }
};

// A planned move that cannot be made is not an error: it is made on demand.
inline void note_given_up(const Status& status) {
  if (!status.is_ok()) log_line(LogLevel::kDebug, "a planned move was abandoned: {}", status.to_string());
}

}  // namespace tessera
