// The front of this layer: where the bytes of every run of one device are, and when they move.
//
// The engine owns the runs and makes all moves. Decisions come from the policy, frames from the tiers, ordering from
// streams and events. One lock serialises all of it; a use with all pages present takes only the gate. The parts that
// do the work are behind it (engine.hpp); this class takes it, and releases it to wait for other calls or callbacks.
//
// The path of a use: begin_use enters the gate, finds nothing missing, stamps and returns; the caller queues its work;
// end_use leaves the gate. If something is missing, begin_use leaves the gate, takes the lock, *holds* the runs, makes
// room, starts the copies, makes the stream wait for them, and enters the gate again.
//
// Thread safety: every call may be made from any thread. Between begin_use and end_use a thread makes no other call
// here: it could wait for itself. Invariants: validate(), after every step of the fuzz test.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "policy/policy.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/device_evictor.hpp"
#include "residency/eviction/fetcher.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/rows.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/held_uses.hpp"
#include "residency/iteration/iteration_tracker.hpp"
#include "residency/iteration/plan_executor.hpp"
#include "residency/pages/page_moves.hpp"
#include "residency/residency_options.hpp"
#include "residency/streams/gate.hpp"
#include "residency/streams/stream_table.hpp"
#include "residency/use.hpp"
#include "residency/use_counts.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

class Residency {
 public:
  static Result<std::unique_ptr<Residency>> create(Driver& driver, DeviceId device, TierStack tiers,
                                                   std::unique_ptr<Policy> policy, EventLog& log,
                                                   ResidencyOptions options);
  ~Residency();  // waits for all moves, then returns every frame. REQUIRES: no queued work uses a run

  // ---- runs ----
  // Adds a run at `address` with no frames. Errors: kOutOfMemory when all tiers together could not hold it in addition
  // to the existing runs.
  Result<Run*> add(Address address, RunShape shape, TagId tag, RunOwner owner = {});
  // Waits for the run's uses, returns its frames and destroys it. Errors: kBusy where a use is in progress or does not
  // end. `run` is gone after every other result.
  Status remove(Run* run);
  void disown(Run* run);  // its owner is destroyed, and leaves a run behind that could not be removed
  // Moves the run to another address, without a copy, once its uses are over; pins end. It is in `range` then, if that
  // is not null. REQUIRES: no other call can find it. Errors: kBusy as remove(), the driver's; it is where it was then.
  Status rehome(Run* run, Address to, Run* range = nullptr);
  // A range (row.hpp) of addresses from `address` on. remove_range() REQUIRES: no run is in it, and no call can find
  // it.
  Run* add_range(Address address, TagId tag);
  void remove_range(Run* range);
  std::vector<Run*> parts_of(const Run& range) const;
  Bytes bytes_of(Runs runs) const;  // each once
  bool fits(Runs runs) const;       // together on the device
  // These runs, and where they do not fill the device, others of the ranges of `origins`: the nearest above these
  // first, then those below. REQUIRES: the runs cannot be removed.
  std::vector<Run*> with_nearest(Runs named, Runs origins);
  // From now on the run may be evicted without a copy: `recompute.work` recomputes the bytes that its block has now
  // (recompute.hpp). An empty `work` ends that; kBusy where only the callback can restore the bytes. No effect on a run
  // that several blocks share.
  Status set_recompute(Run* run, Recompute recompute);

  Result<std::unique_ptr<const Extents>> set_extents(Run* run, std::optional<Extents> extents);  // as Rows::set_extents
  // An address may mean less, or more, than the run that contains it: some run has extents, or had, or is in a range.
  bool names_parts() const { return names_parts_.load(std::memory_order_relaxed); }
  void expect_parts(Run* run);  // a call uses a part of it, and not all of it is present: it may become a row

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
    if (!unseen_.load(std::memory_order_relaxed)) unseen_.store(true);
  }
  // `work` waits for other kernels, as collectives do: on streams where it runs, evictions wait for work for a shorter
  // time before they proceed without it. Cheap.
  void expect_waiting(const void* work) { waiting_.add(work, options_.patience / kBrief); }
  void note_written(Run& run);  // during a use: it may write this run too
  // For a block that was just allocated (already counted in Run::live): maps frames for use on `stream`; with kNoStream
  // it waits for the bytes. kUndefined: if no other block lives in the run, the old contents are not fetched.
  Status ensure(Run* run, StreamId stream, Contents contents = Contents::kKept);
  // A block is freed: work queued on `stream` so far may use it until the stream has passed the returned epoch.
  std::uint64_t note_free(Run* run, StreamId stream);
  // The last block of the run was freed on `stream`. Where memory is short this records a fence, so that the room is
  // known to be free as soon as the work queued so far is over.
  void fence_freed(StreamId stream);
  // Around a wait of the program for its own work, on one stream or on all of the device's context. Work up to the
  // epoch that before_wait() returned counts as over after note_over(), which ignores 0 = unknown.
  std::uint64_t before_wait() const;
  void note_over(std::optional<StreamId> stream, std::uint64_t epoch);
  // Fences all uses and frees noted so far, and polls; streams().passed() then answers.
  Status poll_streams();
  std::uint64_t epoch() const { return streams_.epoch(); }  // of the newest use
  void note_moved(std::span<const MovedBlock> moved);       // they share runs from now on: IterationTracker::note_moved
  bool is_short() const { return tracker_.is_short(); }     // all blocks have ever not fitted at once; by any thread
  // The bytes by which every block used by a launch so far could grow with each of these launches still fitting.
  Bytes spare_for_each_block();

  // ---- hints ----
  Status prefetch(Runs runs);  // starts fetching them, as far as no run in use has to be evicted
  Status evict(Runs runs);     // and waits; kBusy for a pinned or held run, though evictions of others may be in flight
  // Evicts all runs with the tag (without one: all runs), and returns their frames to the driver. Pinned runs, and runs
  // used meanwhile, stay. Errors: kOutOfMemory when the tiers below have no room, kIo, kDriver; runs evicted by then
  // are fetched again on use.
  Result<Moved> sleep(std::optional<TagId> tag);
  // Fetches the live bytes of these runs and waits for them. Other runs may be evicted; what still does not fit stays
  // away until it is used. Errors: kDataLoss, kIo, kDriver.
  Result<Moved> wake(std::optional<TagId> tag);
  // Switches the policy; what was learned is kept. Returns the previous one, which is best destroyed without a lock.
  Guide set_policy(std::unique_ptr<Policy> policy);
  // As if this iteration had been learned with this answer, from the next use on (IterationTracker::activate_plan()).
  void activate_plan(Iteration iteration, const Strategy& strategy, Runs players = {});
  Status place(Run* run, std::span<const Places> places);  // REQUIRES: all pages on the device, none in use
  // Off: live runs are evicted by evict() and sleep() only, since work may use them unannounced; these then wait for
  // all work on the device. Switching on also waits for that work; switching off waits for copies out in flight, and
  // their pages stay. Errors: the driver's.
  Status set_automatic(bool on);
  bool is_automatic() const { return automatic_.load(); }
  // Fetches the run and keeps it on the device; for good with `exposed_by` (a string literal). Errors: also
  // kOutOfMemory if the runs do not all fit together and pinned ones would leave launches too little
  // (room_beside_pins).
  Status pin(Run* run, const char* exposed_by = nullptr, const Held& held = {});
  Status unpin(Run* run);
  // The same with a reason that the statistics report, until the matching unkeep(). Errors: also kOutOfMemory where
  // pinned runs would leave too little room for launches.
  Status keep(Run* run, const char* reason, const Held& held = {});
  Status unkeep(Run* run);

  // ---- progress ----
  void advance();  // finishes transfers and evicts ahead of need; cheap when nothing is in flight
  bool has_work() const;
  Status drain();                  // waits until no move is in flight
  void trim();                     // returns unused frames to the driver
  void prepare_checks();           // registers the host memory that checks need, so that no later call has to
  Status trim_device(Bytes keep);  // reduces what the device holds to `keep`, as far as that needs no move
  // driver_yield.cpp: the driver lacks device memory for an allocation made elsewhere. Returns free memory to it and lowers
  // the budget by that amount until end_yield(). If the driver then still has less than `wanted`, evicts runs until it
  // has enough, unless that cannot be reached. kUnknown: as much as a call of unknown size usually needs. kHalf: half
  // of what there is. Returns the bytes given back. Errors: the driver's, and kIo; end_yield() is not needed then.
  static constexpr Bytes kUnknown{~std::uint64_t{0}}, kHalf{~std::uint64_t{0} - 1};
  Result<Bytes> begin_yield(Bytes wanted);
  // Of pages that are on the device too, or of no live block; waits for moves in flight, and for work up to `patience`.
  Status drop_host_copies();
  void end_yield() { tiers_.device.end_yield(); }

  // ---- inspection ----
  StreamTable& streams() { return streams_; }
  ResidencyStats stats() const;
  Bytes pinned_bytes() const;  // of runs that may not be evicted
  Bytes live_bytes() const;    // of runs with a live block: a device of this size would need no eviction
  std::vector<std::pair<const char*, Bytes>> exposures() const;  // by the call that exposed the run first
  std::array<Bytes, kPlaces> whereabouts(const Run& run) const;  // each page counted in its nearest tier, device first
  Status validate() const;

 private:
  Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy, EventLog& log,
            ResidencyOptions options, std::unique_ptr<CopyLanes> lanes);
  Status await_uses(const Run& run, const Status& fenced) REQUIRES_LOCK(mutex_);
  Status await_device();  // kNotReady after the whole patience
  void keep_to_plan() EXCLUDES_LOCK(mutex_);
  Status settle(Run& run) REQUIRES_LOCK(mutex_);
  void note_unseen_use(Run& run) REQUIRES_LOCK(mutex_);
  Bytes room_beside_pins() const REQUIRES_LOCK(mutex_);
  Bytes room_beside_kept() const REQUIRES_LOCK(mutex_);
  Status check_room_beside_pins(const Run& run, Bytes launches) const REQUIRES_LOCK(mutex_);

  // launch_notes.cpp
  void expect_use(StreamId stream);             // outside of the gate
  std::uint32_t slot_for_use(StreamId stream);  // inside: a stream found dead meanwhile gets another one
  void expect_own_streams();
  std::uint64_t stamp_all(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  std::uint64_t stamp_rising(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  void stamp_outside(Runs runs, StreamId stream, std::uint32_t slot);
  void note_use(Runs runs, StreamId stream, std::uint32_t slot, Access access, Use& use);
  static constexpr std::uint64_t kBrief = 20;
  void note_kernel(const void* work, StreamId stream, std::uint64_t epoch, std::uint32_t gate_slot);
  void note_launch(Runs runs, StreamId stream, std::uint64_t epoch, Access access, Use& use);
  std::uint32_t time_other(StreamId stream);
  void end_other_use(Runs runs, StreamId stream, const Use& use);  // held, timed, or on a per-thread stream

  // demand_fetch.cpp: a use that has to wait
  Status fetch_and_hold(Runs runs, StreamId stream, const Held& held);
  Status await_news(const Status& in_the_way, std::uint64_t& tries);
  void note_stall(const Stall& stall, Run& run) REQUIRES_LOCK(mutex_);

  // recomputation.cpp: bytes that a callback recomputes
  Status recompute(Runs runs, StreamId stream);
  Status recompute(Run& run, StreamId on);
  Status await_unfinished(Run& run) REQUIRES_LOCK(mutex_);
  void undo_mounts(Runs runs) REQUIRES_LOCK(mutex_);

  void say_not_all(const Run& range) REQUIRES_LOCK(mutex_);  // run_ranges.cpp

  // driver_yield.cpp
  Status free_idle(Bytes bytes) REQUIRES_LOCK(mutex_);
  Status evict_for_driver(Bytes wanted) REQUIRES_LOCK(mutex_);

  // sleeper.cpp: many runs at once, by tag
  enum class Side : std::uint8_t { kThere, kAway };
  std::vector<Run*> tagged(std::optional<TagId> tag, Side side) const REQUIRES_LOCK(mutex_);
  Bytes tagged_bytes(std::optional<TagId> tag, Side side) const;
  Status account_for_unannounced();
  Status keep_evicting_runs() REQUIRES_LOCK(mutex_);
  struct Waking;
  Result<Waking> hold_away(std::optional<TagId> tag);
  Status start_evicting(std::optional<TagId> tag);
  Status finish_evicting(std::optional<TagId> tag);
  void drop_peer_copies(Run& run) REQUIRES_LOCK(mutex_);
  Status bring_back(Runs runs);

  Driver& driver_;
  const DeviceId device_;
  TierStack tiers_;
  Guide guide_ GUARDED_BY(mutex_);
  EventLog& log_;
  const ResidencyOptions options_;
  const std::unique_ptr<CopyLanes> lanes_;
  StreamTable streams_;
  IterationTracker tracker_;
  Gate gate_;
  std::atomic<bool> own_streams_{false};  // a per-thread default stream is in use
  UseCounts counts_;
  std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<bool> awaits_room_{false};
  HeldUses held_uses_;
  std::atomic<bool> automatic_{true};
  std::atomic<bool> names_parts_{false};
  std::atomic<bool> unseen_{false};
  bool said_not_all_ GUARDED_BY(mutex_) = false;
  WaitingKernels waiting_;
  mutable Mutex mutex_{LockRank::kResidency};

  // Each refers to those before it.
  Engine engine_ GUARDED_BY(mutex_);
  PageMoves moves_ GUARDED_BY(mutex_);
  Transfers transfers_ GUARDED_BY(mutex_);
  HostEvictor host_evictor_ GUARDED_BY(mutex_);
  DeviceEvictor device_evictor_ GUARDED_BY(mutex_);
  Fetcher fetcher_ GUARDED_BY(mutex_);
  PlanExecutor executor_ GUARDED_BY(mutex_);
  Rows rows_ GUARDED_BY(mutex_);
};

}  // namespace tessera

#include "residency/residency_inline.hpp"
