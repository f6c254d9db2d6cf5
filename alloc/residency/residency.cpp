#include "residency/residency.hpp"

#include <algorithm>
#include <utility>

#include "base/atomic_max.hpp"
#include "base/log.hpp"
#include "residency/eviction/initial_places.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
Result<std::unique_ptr<Residency>> Residency::create(Driver& driver, DeviceId device, TierStack tiers,
                                                     std::unique_ptr<Policy> policy, EventLog& log,
                                                     ResidencyOptions options) {
  std::unique_ptr<CopyLanes> lanes;
  TESSERA_TRY_ASSIGN(lanes, CopyLanes::create(driver, device, tiers.peer != nullptr ? tiers.peer->lender_count() : 0));
  tiers.host.add_reserve(device);
  return std::unique_ptr<Residency>(
      new Residency(driver, device, tiers, std::move(policy), log, std::move(options), std::move(lanes)));
}

Residency::Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy, EventLog& log,
                     ResidencyOptions options, std::unique_ptr<CopyLanes> lanes)
    : locked_(driver, device, tiers, std::move(policy), log, std::move(options), std::move(lanes)) {}

// ---- uses ---------------------------------------------------------------------------------------

// As stamp_all(), when a per-thread default stream is in use.
Epoch Residency::stamp_rising(std::span<Run* const> runs, StreamId stream, std::uint32_t slot, Access access) {
  const Epoch epoch = locked_.streams.tick();
  const std::uint64_t bit = bit_of(stream, slot);
  for (Run* const run : runs) {
    const Epoch before = raise_to(run->used, epoch);
    if (!before.is_never() && before < epoch) run->gap.store(epoch - before, std::memory_order_relaxed);
    if (access == Access::kWrite) raise_to(run->written, epoch);
    note_stream(*run, bit);
  }
  if (bit != 0) locked_.streams.note_use(slot, epoch);
  return epoch;
}

// For work that was queued before the call: the gate may close and open meanwhile, so stamps only rise.
void Residency::stamp_outside(std::span<Run* const> runs, StreamId stream, std::uint32_t slot) {
  const Epoch epoch = locked_.streams.tick();
  const std::uint64_t bit = bit_of(stream, slot);
  for (Run* run : runs) {
    const Epoch before = raise_to(run->used, epoch);
    if (!before.is_never() && before < epoch) run->gap.store(epoch - before, std::memory_order_relaxed);
    note_stream(*run, bit);
  }
  if (bit != 0) locked_.streams.note_use(slot, epoch);
}

// Once the gate is closed, every launch that did not see the flag has left it, or is blocked in a call and has stamped.
void Residency::expect_own_streams() {
  MutexLock lock(locked_.mutex);
  own_streams_.store(true);
  const Gate::Closed closed(locked_.gate);
}

Status Residency::begin_use(std::span<Run* const> runs, StreamId stream, Access access, Use::Kind kind, Use& use,
                            const Held& on_held) {
  expect_use(stream);
  locked_.counts.add(thread_number(), runs.size());
  if (locked_.review_due.load(std::memory_order_relaxed)) fetch_.review_split();
  std::uint32_t gate_slot = locked_.gate.enter();
  bool held = false;
  if (!all_present(runs)) {
    locked_.gate.leave(gate_slot);
    TESSERA_TRY(fetch_.fetch_and_hold(runs, stream, use.oversized, on_held));
    expect_names();
    held = true;
    gate_slot = locked_.gate.enter();
  }
  use = {.kind = kind, .copies = use.copies, .work = use.work, .gate_slot = gate_slot, .named = use.named};
  note_use(runs, stream, slot_for_use(stream), access, use);
  if (use.copies) note_unshown(runs);
  if (kind == Use::Kind::kHold && !held) locked_.held_uses.hold(runs);
  if (kind == Use::Kind::kHold) locked_.gate.leave(gate_slot);
  if (kind == Use::Kind::kGate && held) locked_.held_uses.let_go(runs);  // inside the gate they are just as safe
  if (kind != Use::Kind::kHold || stream != kNoStream || !locked_.any_in_host.load()) return {};
  const Status opened = open_to_others(runs);
  if (!opened.is_ok()) locked_.held_uses.let_go(runs);
  return opened;
}

// Launches look for partial blocks once there are some.
void Residency::expect_names() {
  if (watches_names()) runs_.expect_names_of_parts();
}

// The work may be another device's.
Status Residency::open_to_others(Runs runs) {
  MutexLock lock(locked_.mutex);
  return locked_.partial.open_to_others(runs);
}

void Residency::end_other_use(std::span<Run* const> runs, StreamId stream, const Use& use) {
  if (use.watch != Use::kNoWatch) locked_.tracker.watches().stop(use.watch, stream);
  const bool held = use.kind == Use::Kind::kHold;
  // Work may have been queued after a fence labelled with the first stamp: stamp again.
  if (held) stamp_outside(runs, stream, slot_for_use(stream));
  if (held && use.copies) note_unshown(runs);
  if (stream == kPerThreadStream) {
    if (Status status = locked_.streams.fence_own(locked_.streams.slot_of(stream)); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a thread's own stream has no fence: {}", status.to_string());
    }
  }
  if (held) {
    locked_.held_uses.let_go(runs);
  } else {
    locked_.gate.leave(use.gate_slot);
  }
  if (locked_.tracker.log().calls()) keep_to_plan();
}

bool Residency::try_time(StreamId stream, Use& use) {
  if (!locked_.tracker.times() || stream == kNoStream) return false;
  expect_use(stream);
  use = {.kind = Use::Kind::kGate, .work = use.work, .gate_slot = locked_.gate.enter()};
  use.watch = notes_.time_other(stream);
  return true;
}

std::uint32_t Residency::begin_unnamed(StreamId stream, const void* work, std::uint32_t* watch) {
  expect_unseen_work();
  expect_use(stream);
  const std::uint32_t gate_slot = locked_.gate.enter();
  const Epoch epoch = locked_.streams.tick();
  locked_.streams.note_use(locked_.streams.slot_of(stream), epoch);
  if (locked_.tracker.is_short()) notes_.note_kernel(work, stream, epoch, gate_slot);
  if (watch != nullptr) *watch = notes_.time_other(stream);
  return gate_slot;
}

void Residency::end_unnamed(StreamId stream, std::uint32_t gate_slot, std::uint32_t watch) {
  end_use({}, stream, {.kind = Use::Kind::kGate, .gate_slot = gate_slot, .watch = watch});
}

void Residency::note_unshown(Runs runs) {
  for (Run* const run : runs) run->named.note_other(run->stamps());
}

void Residency::note_written(Run& run) {
  const Epoch epoch = run.used.load();
  raise_to(run.written, epoch);
  if (locked_.tracker.log().is_on()) locked_.tracker.log().note_write(run, epoch);
}

Status Residency::ensure(Run* run, StreamId stream, Contents contents) {
  {
    MutexLock lock(locked_.mutex);
    if (contents == Contents::kUndefined && run->lives_alone()) {
      TESSERA_TRY(locked_.partial.begin_anew(*run));
      for (Run* part : with_parts({&run, 1})) TESSERA_TRY(locked_.transfers.releases.discard(*part));
    }
    if (locked_.rows.is_too_large(*run)) locked_.rows.make(*run);
    if (run->is_row.load()) return {};  // its pages come when they are used
  }
  TESSERA_TRY(fetch_.fetch_and_hold({&run, 1}, stream, Oversized::kUsedInHost, {}));
  expect_names();
  locked_.held_uses.let_go({&run, 1});
  return {};
}

// The stream is stamped first: a reader of the run's stamp must find that the stream has not passed it. An epoch that
// was closed meanwhile is not used: the thread that closed it (in start_eviction()) may have read the run's streams
// before this stream was among them. It closes first and then reads; this stamps first and then checks, so one side
// always sees the other.
Epoch Residency::note_free(Run* run, StreamId stream) {
  if (run->is_row.load(std::memory_order_acquire)) [[unlikely]]
    end_block(*run);
  run->freed_at.store(locked_.tracker.log().last(), std::memory_order_relaxed);
  if (stream == kNoStream) {
    run->named.note_end(run->used.load());
    return {};
  }
  expect_use(stream);
  const std::uint32_t slot = slot_for_use(stream);
  for (;;) {
    const Epoch epoch = locked_.streams.open_epoch();
    locked_.streams.note_use(slot, epoch);
    note_stream(*run, bit_of(stream, slot));
    raise_to(run->freed, epoch);
    if (locked_.streams.epoch() < epoch) return epoch;
  }
}

// Without a fence here, the end of that work would be known only with the end of work queued later, when room is
// needed.
void Residency::fence_freed(StreamId stream) {
  if (!is_short() || stream == kNoStream) return;
  if (!locked_.mutex.try_lock()) return;  // the holder of the lock may be waiting for this thread
  {
    const Status fenced = locked_.engine.fence(std::uint64_t{1} << locked_.streams.slot_of(stream));
    if (!fenced.is_ok()) log_line(LogLevel::kDebug, "a free has no fence: {}", fenced.to_string());
  }
  locked_.mutex.unlock();
}

// Fails while a thread is inside the gate, which may have stamped and not queued yet. The epoch is read first.
Epoch Residency::before_wait() const {
  const Epoch epoch = locked_.streams.epoch();
  return locked_.gate.saw_all_out() ? epoch : Epoch();
}

void Residency::note_over(std::optional<StreamId> stream, Epoch epoch) {
  if (epoch.is_never()) return;
  if (stream) {
    locked_.streams.note_over(*stream, epoch);
  } else {
    locked_.streams.note_all_over(epoch);
    // Our copies are over as well. What they have brought is mapped before the program goes on.
    if (locked_.unseen.load() && locked_.in_flight.load(std::memory_order_relaxed) != 0) advance();
    if (locked_.any_in_host.load(std::memory_order_relaxed)) bring_back();
  }
}

void Residency::bring_back() {
  MutexLock lock(locked_.mutex);
  locked_.partial.bring_back();
}

Bytes Residency::spare_for_each_block() {
  MutexLock lock(locked_.mutex);
  const IterationTracker::Extent largest = locked_.tracker.largest_launch();
  const Bytes device = locked_.tiers.device.usage().capacity, taken = locked_.engine.pinned_bytes + largest.bytes;
  return (device - std::min(device, taken)) / std::max<std::size_t>(largest.blocks, 1);
}

void Residency::note_moved(std::span<const MovedBlock> moved) {
  MutexLock lock(locked_.mutex);
  locked_.executor.follow();
  locked_.tracker.note_moved(moved);
}

Status Residency::poll_streams() {
  MutexLock lock(locked_.mutex);
  const Status fenced = locked_.engine.fence_all();
  if (!fenced.is_ok() && fenced.code() != Code::kNotReady)
    return fenced;  // after kNotReady, less work is known to be over
  return locked_.streams.poll();
}

// ---- hints ---------------------------------------------------------------------------------------

Status Residency::place(Run* run, std::span<const Locations> places) {
  MutexLock lock(locked_.mutex);
  return place_pages(locked_.engine, locked_.moves, locked_.transfers, *run, places);
}

Status Residency::prefetch(std::span<Run* const> runs) {
  MutexLock lock(locked_.mutex);
  return locked_.fetcher.prefetch(runs);
}

Status Residency::evict(std::span<Run* const> runs) {
  TESSERA_TRY(automatic_.account_for_unannounced());
  MutexLock lock(locked_.mutex);
  locked_.executor.cancel_fetches(runs);
  // All copies are queued before the first wait: the link is busy while pages are unmapped.
  for (Run* run : runs) {
    TESSERA_TRY(locked_.run_eviction.start(*run, run->shape.bytes(), RunEviction::Patience::kDemand).status());
  }
  for (Run* run : runs) TESSERA_TRY(locked_.run_eviction.evict(*run));
  return {};
}

void Residency::activate_plan(Iteration iteration, const Strategy& strategy, Runs players) {
  MutexLock lock(locked_.mutex);
  locked_.executor.activate_plan(std::move(iteration), strategy, players);
}

Guide Residency::set_policy(std::unique_ptr<Policy> policy) {
  Guide guide = make_guide(std::move(policy), locked_.options.make_planner);
  MutexLock lock(locked_.mutex);
  locked_.executor.set_policy(*guide.policy, *guide.planner);
  std::swap(locked_.guide, guide);
  return guide;
}

// ---- progress ------------------------------------------------------------------------------------

void Residency::advance() {
  MutexLock lock(locked_.mutex);
  locked_.executor.advance();
}

// At the launch itself: some launches later, copies out would wait for the work of those launches too.
void Residency::keep_to_plan() {
  if (!locked_.mutex.try_lock()) return;  // the holder of the lock will look
  locked_.executor.advance();
  locked_.mutex.unlock();
}

Status Residency::drain() {
  MutexLock lock(locked_.mutex);
  return locked_.transfers.ends.finish_all();
}

void Residency::prepare_checks() {
  MutexLock lock(locked_.mutex);
  locked_.moves.fingerprints.prepare();
}

void Residency::trim() {
  locked_.tiers.device.trim();
  if (locked_.tiers.peer != nullptr) locked_.tiers.peer->trim();
  locked_.tiers.host.trim();
}

}  // namespace tessera
