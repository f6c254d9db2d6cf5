// Where the bytes of every run of one device are, and who moves them when: the front of this layer.
//
// The engine owns the runs and carries out all moves. Decisions come from the policy, frames from the tiers, order
// from streams and events. One lock serialises all that; a use whose pages are all present takes only the gate.
// Behind the lock stand the parts that do the work (engine.hpp); here is what takes it, and what steps out of it to
// wait for other calls, or to call back.
//
// How a use goes: begin_use enters the gate, sees that nothing is missing, stamps, returns; the caller
// queues its work; end_use leaves. If something is missing it leaves the gate, takes the lock, *holds*
// the runs, makes room, starts the copies, makes the stream wait for them, and enters the gate again.
//
// Thread safety: every call may be made from any thread. Between begin_use and end_use a thread makes
// no other call here: it might wait for itself. Invariants: validate(), after every step of the fuzz test.
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
#include "residency/arrivals.hpp"
#include "residency/conductor.hpp"
#include "residency/engine.hpp"
#include "residency/follower.hpp"
#include "residency/gate.hpp"
#include "residency/held_uses.hpp"
#include "residency/host_room.hpp"
#include "residency/page_mover.hpp"
#include "residency/remake.hpp"
#include "residency/residency_options.hpp"
#include "residency/residency_stats.hpp"
#include "residency/room.hpp"
#include "residency/run.hpp"
#include "residency/stall.hpp"
#include "residency/stream_table.hpp"
#include "residency/transfers.hpp"
#include "residency/use.hpp"
#include "residency/use_counts.hpp"
#include "residency/waiting_kernels.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

class Residency {
 public:
  static Result<std::unique_ptr<Residency>> create(Driver& driver, DeviceId device, TierStack tiers,
                                                   std::unique_ptr<Policy> policy, EventLog& log, ResidencyOptions options);
  ~Residency();  // waits for all moves, then gives every frame back. REQUIRES: no queued work uses a run

  // ---- runs ----
  // A run at `address` with nothing behind it. Errors: kOutOfMemory when all tiers together could
  // not hold it beside the runs there are.
  Result<Run*> add(Address address, RunShape shape, TagId tag, RunOwner owner = {});
  // Waits for its uses, gives its frames back. `run` is gone then, except after kBusy: one goes on, or does not end.
  Status remove(Run* run);
  void disown(Run* run);  // its owner goes, and leaves a run behind that could not be removed
  // From now on the run may leave without a copy: `remake.work` makes the bytes that its block has now (remake.hpp).
  // Without work: not any more; kBusy where only it can bring them back. A run that several blocks share stays as it
  // is.
  Status set_remake(Run* run, Remake remake);

  // ---- uses ----
  // Every page of every run is in device memory as far as `stream` is concerned when this returns, and stays until the
  // work queued before end_use is over. Duplicates are allowed. Errors: kOutOfMemory when the runs do not fit
  // together, kDataLoss, kIo, kDriver, those of a callback. `held` is called before one is: the runs cannot be removed
  // any more.
  Status begin_use(Runs runs, StreamId stream, Access access, Use::Kind kind, Use& use, const Held& held = {});
  // The same for queued work when nothing has to come: true, and the use has begun, or false and nothing
  // has happened. `find()` names the runs, or says no by nullopt; it is called inside the gate, where
  // runs in the page map cannot go away: remove() closes it first. Takes no lock, unless `stream` is new.
  template <class Find> bool try_use(Find find, StreamId stream, Access access, Use& use);
  void end_use(Runs runs, StreamId stream, const Use& use);
  // Queued work that names no run but may reach any: none leaves before it is over. kNoStream: on a stream that may be
  // another device's. Gives the gate's slot. `work`: as Use::work.
  std::uint32_t begin_unnamed(StreamId stream, const void* work = nullptr);
  void end_unnamed(StreamId stream, std::uint32_t gate_slot);
  // From now on work may use runs that it does not name: all work on the device counts before a run leaves, and a run
  // stays for a few launches behind its last announced use (ResidencyOptions::grace). Cheap.
  void expect_unseen_work() {
    if (!unseen_.load(std::memory_order_relaxed)) unseen_.store(true);
  }
  // These kernels wait for others, as collectives do: where they run, work is waited for more briefly before runs leave
  // beside it. Cheap.
  void expect_waiting(const void* work) { waiting_.add(work, options_.patience / kBrief); }
  void note_written(Run& run);  // of a use that has not ended: it may write this run, too
  // For a block that was just allocated (Run::live is counted already): backs its run for `stream`; with kNoStream it
  // waits for the bytes. kUndefined: where no other block lives in the run, what its pages held need not come back.
  Status ensure(Run* run, StreamId stream, Contents contents = Contents::kKept);
  // Of a block; work queued there so far may use it until the stream has passed the epoch returned.
  std::uint64_t note_free(Run* run, StreamId stream);
  // The run's last block was freed there: where memory is short, its room is known to be there as soon as what is queued now
  // is over.
  void fence_freed(StreamId stream);
  // Around a call by which the program waits for its own work, on a stream or on all of the device's context: what was
  // queued before is over then. The first gives the second's epoch; 0, for which there is nothing to note: it is not known.
  std::uint64_t before_wait() const;
  void note_over(std::optional<StreamId> stream, std::uint64_t epoch);
  // Fences all uses and frees noted so far, and looks which are over: streams().passed() then tells.
  Status poll_streams();
  std::uint64_t epoch() const { return streams_.epoch(); }  // of the newest use
  // The likes of these blocks will share runs from now on; as Conductor::note_moved.
  void note_moved(std::span<const MovedBlock> moved);
  // Not all blocks have fitted into the device at once, now or before. By any thread.
  bool is_short() const { return conductor_.is_short(); }
  // So many bytes more could each block take that a launch has used so far, and every one of these launches would fit.
  Bytes spare_for_each_block();

  // ---- hints ----
  Status prefetch(Runs runs);  // starts bringing them in while nobody in use has to leave for it
  Status evict(Runs runs);     // and waits for it; kBusy for a pinned or held run, others may be on their way
  // Moves the runs with the tag (without one: all runs) out and gives their frames back to the driver.
  // Pinned runs, and runs that are used meanwhile, stay. Errors: kOutOfMemory when the tiers below have
  // no room, kIo, kDriver; what has left by then comes back when it is used.
  Result<Moved> sleep(std::optional<TagId> tag);
  // Brings their live bytes back and waits for them. Others may have to leave; what does not fit
  // all the same stays away until it is used. Errors: kDataLoss, kIo, kDriver.
  Result<Moved> wake(std::optional<TagId> tag);
  // Decides from now on, with what was learned so far. Gives back who did before: best let go without a lock.
  Guide set_policy(std::unique_ptr<Policy> policy);
  // As if this iteration had been learned and this been the answer, from the next use on (Conductor::lead()).
  void lead(Iteration iteration, const Strategy& strategy, Runs players = {});
  Status place(Run* run, std::span<const Places> places);  // of its pages, all on the device now, used by nobody
  // Off: live runs leave by evict() and sleep() only, since work may use them unannounced; these wait for all work on
  // the device then. Switching on waits for it too, switching off for the copies of those that are leaving, and they
  // stay. Errors: the driver's.
  Status set_automatic(bool on);
  bool is_automatic() const { return automatic_.load(); }
  // Brings it in and keeps it; with `exposed_by` (a literal) for good.
  Status pin(Run* run, const char* exposed_by = nullptr, const Held& held = {});
  Status unpin(Run* run);
  // The same with a reason that the statistics show, until as many unkeep(). Errors: also kOutOfMemory where what is
  // pinned would leave launches too little room.
  Status keep(Run* run, const char* reason, const Held& held = {});
  Status unkeep(Run* run);

  // ---- progress ----
  void advance();  // finishes what is done, and pages out ahead of need; cheap when nothing is in flight
  bool has_work() const;
  Status drain();  // waits until no move is in flight
  void trim();     // gives unused frames back to the driver
  void prepare_checks();  // registers the host memory that this takes, so that no later call does
  // Until no more than `keep` bytes are held on the device, as far as that moves nothing. Errors: the driver's.
  Status trim_device(Bytes keep);
  // yield.cpp: the driver is out of memory for others on the device. What is free here goes back to it, the budget goes
  // down by that, and does not rise before end_yield(). Where the driver has less than `wanted` then, runs leave
  // until it has, unless that cannot be reached. kUnknown: as much as a call usually needs that does not say. kHalf: half of
  // what is there.
  // Gives the bytes that went back. Errors: the driver's, and kIo; then there is nothing to end.
  static constexpr Bytes kUnknown{~std::uint64_t{0}}, kHalf{~std::uint64_t{0} - 1};
  Result<Bytes> begin_yield(Bytes wanted);
  void end_yield() { tiers_.device.end_yield(); }

  // ---- looking ----
  StreamTable& streams() { return streams_; }
  ResidencyStats stats() const;
  Bytes pinned_bytes() const;  // of runs that may not leave the device
  Bytes live_bytes() const;  // of runs with a live block: a device of so much would never miss
  std::vector<std::pair<const char*, Bytes>> exposures() const;  // by the call that exposed first
  std::array<Bytes, kPlaces> whereabouts(const Run& run) const;  // by the nearest that has them, device first
  Status validate() const;

 private:
  Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy,
            EventLog& log, ResidencyOptions options, std::unique_ptr<CopyLanes> lanes);
  Status await_uses(const Run& run, const Status& fenced) REQUIRES_LOCK(mutex_);
  void keep_to_plan() EXCLUDES_LOCK(mutex_);
  void note_unseen_use(Run& run) REQUIRES_LOCK(mutex_);
  Status check_room_beside_pins(const Run& run) const REQUIRES_LOCK(mutex_);

  // uses.cpp
  void expect_use(StreamId stream);             // outside of the gate
  std::uint32_t slot_for_use(StreamId stream);  // inside: a stream found dead meanwhile has another one
  void expect_own_streams();
  std::uint64_t stamp_all(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  std::uint64_t stamp_rising(Runs runs, StreamId stream, std::uint32_t slot, Access access);
  void stamp_outside(Runs runs, StreamId stream, std::uint32_t slot);
  void note_use(Runs runs, StreamId stream, std::uint32_t slot, Access access, Use& use);
  static constexpr std::uint64_t kBrief = 20;
  void note_kernel(const void* work, StreamId stream, std::uint64_t epoch, std::uint32_t gate_slot);
  void note_launch(Runs runs, StreamId stream, std::uint64_t epoch, Access access, Use& use);
  void end_other_use(Runs runs, StreamId stream, const Use& use);  // held, timed, or on a thread's own stream

  // fetch.cpp: a use that has to wait
  Status fetch_and_hold(Runs runs, StreamId stream, const Held& held);
  Status await_news(const Status& in_the_way, std::uint64_t& tries);
  void note_stall(const Stall& stall, Run& run) REQUIRES_LOCK(mutex_);

  // remake.cpp: bytes that a callback makes
  Status remake(Runs runs, StreamId stream);
  Status remake(Run& run, StreamId on);
  Status await_unfinished(Run& run) REQUIRES_LOCK(mutex_);
  void undo_mounts(Runs runs) REQUIRES_LOCK(mutex_);

  // yield.cpp
  Status free_idle(Bytes bytes) REQUIRES_LOCK(mutex_);
  Status evict_for_driver(Bytes wanted) REQUIRES_LOCK(mutex_);

  // sleep.cpp: many at once, by tag
  enum class Side : std::uint8_t { kThere, kAway };
  std::vector<Run*> tagged(std::optional<TagId> tag, Side side) const REQUIRES_LOCK(mutex_);
  Bytes tagged_bytes(std::optional<TagId> tag, Side side) const;
  Status account_for_unannounced();
  Status keep_who_is_leaving() REQUIRES_LOCK(mutex_);
  struct Waking;
  Result<Waking> hold_away(std::optional<TagId> tag);
  Status start_leaving(std::optional<TagId> tag);
  Status finish_leaving(std::optional<TagId> tag);
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
  Conductor conductor_;
  Gate gate_;
  std::atomic<bool> own_streams_{false};  // somebody uses a per-thread default stream
  UseCounts counts_;
  std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<bool> awaits_room_{false};
  HeldUses held_uses_;
  std::atomic<bool> automatic_{true};
  std::atomic<bool> unseen_{false};
  WaitingKernels waiting_;
  mutable Mutex mutex_{LockRank::kResidency};

  // Each knows those before it.
  Engine engine_ GUARDED_BY(mutex_);
  PageMover mover_ GUARDED_BY(mutex_);
  Transfers transfers_ GUARDED_BY(mutex_);
  HostRoom host_room_ GUARDED_BY(mutex_);
  Room room_ GUARDED_BY(mutex_);
  Arrivals arrivals_ GUARDED_BY(mutex_);
  Follower follower_ GUARDED_BY(mutex_);
};

}  // namespace tessera

#include "residency/residency_inline.hpp"
