// The front of this layer: where the bytes of every run of one device are, and when they move.
//
// The engine owns the runs and makes all moves. Decisions come from the policy, frames from the tiers, ordering from
// streams and events. One lock serialises all of it; a use with all pages present takes only the gate. The parts that
// do the work are behind the lock (engine.hpp). This class has the uses; the classes beside it, which it owns, take the
// lock for one feature each, and release it to wait for other calls or callbacks.
//
// The path of a use: begin_use enters the gate, finds nothing missing, stamps and returns; the caller queues its work;
// end_use leaves the gate. If something is missing, begin_use leaves the gate, takes the lock, *holds* the runs, makes
// room, starts the copies, makes the stream wait for them, and enters the gate again.
//
// Thread safety: every call may be made from any thread. Between begin_use and end_use a thread makes no other call
// here: it could wait for itself. Invariants: validate(), after every step of the fuzz test.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/epoch.hpp"
#include "residency/automatic_eviction.hpp"
#include "residency/demand_fetch.hpp"
#include "residency/driver_yield.hpp"
#include "residency/launch_notes.hpp"
#include "residency/locked_engine.hpp"
#include "residency/pinned_runs.hpp"
#include "residency/placeholders.hpp"
#include "residency/recomputation.hpp"
#include "residency/residency_figures.hpp"
#include "residency/run_ranges.hpp"
#include "residency/run_table.hpp"
#include "residency/sleeper.hpp"
#include "residency/use.hpp"

namespace tessera {

class Residency {
 public:
  // REQUIRES: all of it outlives it. At its end no queued work uses a run.
  static Result<std::unique_ptr<Residency>> create(Driver& driver, DeviceId device, TierStack tiers,
                                                   std::unique_ptr<Policy> policy, EventLog& log,
                                                   ResidencyOptions options);

  // ---- features with a class of their own ----
  RunTable& runs() { return runs_; }
  RunRanges& ranges() { return ranges_; }
  Recomputation& recomputation() { return recomputation_; }
  PinnedRuns& pins() { return pins_; }
  AutomaticEviction& automatic() { return automatic_; }
  Sleeper& sleeper() { return sleeper_; }
  DriverYield& yields() { return yields_; }
  Placeholders& placeholders() { return placeholders_; }
  const ResidencyFigures& figures() const { return figures_; }

  // ---- uses ----
  // When this returns, every page of every run is in device memory for work on `stream`, and stays until the work
  // queued before end_use is over. Duplicates are allowed. Errors: kOutOfMemory when the runs do not fit together,
  // kDataLoss, kIo, kDriver, and those of a callback. `held` is called before the first callback: from then on the runs
  // cannot be removed.
  Status begin_use(Runs runs, StreamId stream, Access access, Use::Kind kind, Use& use, const Held& held = {});
  // The same for queued work when nothing has to be fetched: returns true with the use begun, or false with nothing
  // changed. `find()` returns the runs, or nullopt to give up; it is called inside the gate, where runs in the page map
  // cannot be removed, since remove() closes the gate first. Takes no lock, unless `stream` is new.
  template <class Find>
  bool try_use(Find find, StreamId stream, Access access, Use& use);
  void end_use(Runs runs, StreamId stream, const Use& use);
  // Announces queued work that names no run but may access any: no run is evicted before it is over. kNoStream: the
  // stream may belong to another device. Returns the gate slot. `work`: as Use::work; `watch`: set if it is timed.
  std::uint32_t begin_unnamed(StreamId stream, const void* work = nullptr, std::uint32_t* watch = nullptr);
  void end_unnamed(StreamId stream, std::uint32_t gate_slot, std::uint32_t watch = Use::kNoWatch);
  // Work that uses no run is about to be queued: true if it is timed, until end_use().
  bool try_time(StreamId stream, Use& use);
  // From now on, work may use runs without announcing it: a run is evicted only after all work on the device queued so
  // far, and stays for a few launches after its last announced use (ResidencyOptions::grace). Cheap.
  void expect_unseen_work() {
    if (!locked_.unseen.load(std::memory_order_relaxed)) locked_.unseen.store(true);
  }
  // `work` waits for other kernels, as collectives do: on streams where it runs, evictions wait for work for a shorter
  // time before they proceed without it. Cheap.
  void expect_waiting(const void* work) { locked_.waiting.add(work, locked_.options.patience / kBrief); }
  // Some blocks are partial: the caller says what launches name of its runs. A launch of all present runs looks at
  // this only if RunTable::names_parts().
  bool watches_names() const { return locked_.watches.load(std::memory_order_relaxed); }
  // Enough of it is known to look again which of their pages are best on the device: the next begin_use() does.
  bool is_review_due() const { return locked_.review_due.load(std::memory_order_relaxed); }
  // A launch names these bytes of the run; 0: from there on. REQUIRES: the run cannot be removed meanwhile.
  static void note_named(Run& run, Extent named) {
    if (NamedStarts* const starts = run.starts.load(std::memory_order_acquire)) starts->note(named);
  }
  void note_written(Run& run);  // during a use: it may write this run too
  // During a use of these runs: it does not show that kernels are given their addresses (visibility.hpp).
  static void note_unshown(Runs runs);
  // For a block that was just allocated (already counted in Run::live): maps frames for use on `stream`; with kNoStream
  // it waits for the bytes. kUndefined: if no other block lives in the run, the old contents are not fetched.
  Status ensure(Run* run, StreamId stream, Contents contents = Contents::kKept);
  // A block is freed: work queued on `stream` so far may use it until the stream has passed the returned epoch.
  Epoch note_free(Run* run, StreamId stream);
  // The last block of the run was freed on `stream`. Where memory is short this records a fence, so that the room is
  // known to be free as soon as the work queued so far is over.
  void fence_freed(StreamId stream);
  // Around a wait of the program for its own work, on one stream or on all of the device's context. Work up to the
  // epoch that before_wait() returned counts as over after note_over(), which ignores "never": unknown.
  Epoch before_wait() const;
  void note_over(std::optional<StreamId> stream, Epoch epoch);
  // Fences all uses and frees noted so far, and polls; streams().passed() then answers.
  Status poll_streams();
  Epoch epoch() const { return locked_.streams.epoch(); }  // of the newest use
  void note_moved(std::span<const MovedBlock> moved);      // they share runs from now on: IterationTracker::note_moved
  std::uint64_t uses_begun() const { return locked_.counts.sum().launches; }  // but for unnamed work
  // All blocks have ever not fitted at once.
  bool is_short() const { return locked_.tracker.is_short(); }
  bool sizes_vary() const { return locked_.tracker.sizes_vary(); }  // IterationTracker::sizes_vary
  // The bytes by which every block used by a launch so far could grow with each of these launches still fitting.
  Bytes spare_for_each_block();

  // ---- hints ----
  Status prefetch(Runs runs);  // starts fetching them, as far as no run in use has to be evicted
  Status evict(Runs runs);     // and waits; kBusy for a pinned or held run, though evictions of others may be in flight
  // Switches the policy; what was learned is kept. Returns the previous one, which is best destroyed without a lock.
  Guide set_policy(std::unique_ptr<Policy> policy);
  // As if this iteration had been learned with this answer, from the next use on (IterationTracker::activate_plan()).
  void activate_plan(Iteration iteration, const Strategy& strategy, Runs players = {});
  Status place(Run* run, std::span<const Locations> places);  // REQUIRES: all pages on the device, none in use

  // ---- progress ----
  void advance();  // finishes transfers and evicts ahead of need; cheap when nothing is in flight
  bool has_work() const;
  Status drain();         // waits until no move is in flight
  void trim();            // returns unused frames to the driver
  void prepare_checks();  // registers the host memory that checks need, so that no later call has to
  StreamTable& streams() { return locked_.streams; }
  StreamWaits& waits() { return locked_.waits; }

 private:
  static constexpr std::uint64_t kBrief = 20;  // the part of the patience with work that waits for other kernels

  Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy, EventLog& log,
            ResidencyOptions options, std::unique_ptr<CopyLanes> lanes);
  void keep_to_plan() EXCLUDES_LOCK(locked_.mutex);
  void bring_back();
  void expect_names();
  Status open_to_others(Runs runs);
  void expect_use(StreamId stream);             // outside of the gate
  std::uint32_t slot_for_use(StreamId stream);  // inside: a stream found dead meanwhile gets another one
  void expect_own_streams();
  Epoch stamp_all(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  Epoch stamp_rising(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  void stamp_outside(Runs runs, StreamId stream, std::uint32_t slot);
  void note_use(Runs runs, StreamId stream, std::uint32_t slot, Access access, Use& use);
  void end_other_use(Runs runs, StreamId stream, const Use& use);  // held, timed, or on a per-thread stream

  LockedEngine locked_;
  std::atomic<bool> own_streams_{false};  // a per-thread default stream is in use

  // Each refers to those before it.
  LaunchNotes notes_{locked_};
  Recomputation recomputation_{locked_};
  DemandFetch fetch_{locked_, recomputation_};
  AutomaticEviction automatic_{locked_};
  RunTable runs_{locked_};
  RunRanges ranges_{locked_, runs_};
  PinnedRuns pins_{locked_, fetch_};
  Sleeper sleeper_{locked_, automatic_, recomputation_};
  DriverYield yields_{locked_};
  Placeholders placeholders_{locked_, yields_};
  ResidencyFigures figures_{locked_};
};

}  // namespace tessera

#include "residency/residency_inline.hpp"
