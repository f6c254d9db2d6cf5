// Announced uses: what a launch stamps, and what is held by a call that returns when its work is done.
#include <algorithm>
#include <utility>

#include "base/atomic_max.hpp"
#include "base/log.hpp"
#include "residency/pages/row.hpp"
#include "residency/residency.hpp"

namespace tessera {

// As stamp_all(), when a per-thread default stream is in use.
std::uint64_t Residency::stamp_rising(std::span<Run* const> runs, StreamId stream, std::uint32_t slot, Access access) {
  const std::uint64_t epoch = streams_.tick();
  const std::uint64_t bit = bit_of(stream, slot);
  for (Run* const run : runs) {
    const std::uint64_t before = raise_to(run->used, epoch);
    if (before != 0 && before < epoch) run->gap.store(epoch - before, std::memory_order_relaxed);
    if (access == Access::kWrite) raise_to(run->written, epoch);
    note_stream(*run, bit);
  }
  if (bit != 0) streams_.note_use(slot, epoch);
  return epoch;
}

// For work that was queued before the call: the gate may close and open meanwhile, so stamps only rise.
void Residency::stamp_outside(std::span<Run* const> runs, StreamId stream, std::uint32_t slot) {
  const std::uint64_t epoch = streams_.tick();
  const std::uint64_t bit = bit_of(stream, slot);
  for (Run* run : runs) {
    const std::uint64_t before = raise_to(run->used, epoch);
    if (before != 0 && before < epoch) run->gap.store(epoch - before, std::memory_order_relaxed);
    note_stream(*run, bit);
  }
  if (bit != 0) streams_.note_use(slot, epoch);
}

// Once the gate is closed, every launch that did not see the flag has left it, or is blocked in a call and has stamped.
void Residency::expect_own_streams() {
  MutexLock lock(mutex_);
  own_streams_.store(true);
  const Gate::Closed closed(gate_);
}

Status Residency::begin_use(std::span<Run* const> runs, StreamId stream, Access access, Use::Kind kind, Use& use,
                            const Held& on_held) {
  expect_use(stream);
  counts_.add(thread_number(), runs.size());
  std::uint32_t gate_slot = gate_.enter();
  bool held = false;
  if (!all_present(runs)) {
    gate_.leave(gate_slot);
    TESSERA_TRY(fetch_and_hold(runs, stream, on_held));
    held = true;
    gate_slot = gate_.enter();
  }
  use = {.kind = kind, .work = use.work, .gate_slot = gate_slot, .named = use.named};
  note_use(runs, stream, slot_for_use(stream), access, use);
  if (kind == Use::Kind::kHold && !held) held_uses_.hold(runs);
  if (kind == Use::Kind::kHold) gate_.leave(gate_slot);
  if (kind == Use::Kind::kGate && held) held_uses_.let_go(runs);  // inside the gate they are just as safe
  return {};
}

// The watch runs from here, after everything the work waits for, to end_use.
void Residency::note_launch(std::span<Run* const> runs, StreamId stream, std::uint64_t epoch, Access access, Use& use) {
  if (is_inside_callback()) return;  // not part of what the program repeats
  std::optional<Stopwatches::Watch> watch;
  if (use.kind == Use::Kind::kGate && stream != kNoStream && tracker_.times()) {
    watch = tracker_.watches().start(stream);
  }
  if (watch) use.watch = *watch;
  if (tracker_.is_short() && use.kind == Use::Kind::kGate) note_kernel(use.work, stream, epoch, use.gate_slot);
  const Runs named = runs.first(std::min<std::size_t>(runs.size(), use.named));
  tracker_.log().note(use.work, named, epoch, access == Access::kWrite, watch, stream);
}

void Residency::end_other_use(std::span<Run* const> runs, StreamId stream, const Use& use) {
  if (use.watch != Use::kNoWatch) tracker_.watches().stop(use.watch, stream);
  const bool held = use.kind == Use::Kind::kHold;
  // Work may have been queued after a fence labelled with the first stamp: stamp again.
  if (held) stamp_outside(runs, stream, slot_for_use(stream));
  if (stream == kPerThreadStream) {
    if (Status status = streams_.fence_own(streams_.slot_of(stream)); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a thread's own stream has no fence: {}", status.to_string());
    }
  }
  if (held) {
    held_uses_.let_go(runs);
  } else {
    gate_.leave(use.gate_slot);
  }
  if (tracker_.log().calls()) keep_to_plan();
}

bool Residency::try_time(StreamId stream, Use& use) {
  if (!tracker_.times() || stream == kNoStream) return false;
  expect_use(stream);
  use = {.kind = Use::Kind::kGate, .work = use.work, .gate_slot = gate_.enter()};
  use.watch = time_other(stream);
  return true;
}

// The watch, or kNoWatch. REQUIRES: inside the gate.
std::uint32_t Residency::time_other(StreamId stream) {
  if (!tracker_.times() || stream == kNoStream || is_inside_callback()) return Use::kNoWatch;
  if (!tracker_.log().takes_other()) return Use::kNoWatch;
  const std::optional<Stopwatches::Watch> watch = tracker_.watches().start(stream);
  if (!watch) return Use::kNoWatch;
  if (tracker_.log().note_other(*watch, stream)) return *watch;
  tracker_.watches().give_back(*watch);
  return Use::kNoWatch;
}

std::uint32_t Residency::begin_unnamed(StreamId stream, const void* work, std::uint32_t* watch) {
  expect_unseen_work();
  expect_use(stream);
  const std::uint32_t gate_slot = gate_.enter();
  const std::uint64_t epoch = streams_.tick();
  streams_.note_use(streams_.slot_of(stream), epoch);
  if (tracker_.is_short()) note_kernel(work, stream, epoch, gate_slot);
  if (watch != nullptr) *watch = time_other(stream);
  return gate_slot;
}

// Called inside the gate before the launch. Until memory is short, no wait depends on it.
void Residency::note_kernel(const void* work, StreamId stream, std::uint64_t epoch, std::uint32_t gate_slot) {
  if (stream == kNoStream) return;
  const std::uint32_t slot = streams_.slot_of(stream);
  waiting_.note(work, slot, epoch);
  const auto known = waiting_.find(work);
  if (!known) return;
  if (!known->is_suspect) return streams_.note_waiter(slot, epoch, known->allowance);
  if (!gate_.saw_all_out(gate_slot)) return;
  if (const Status marked = streams_.mark(slot, epoch - 1); !marked.is_ok()) {
    log_line(LogLevel::kDebug, "a kernel was launched without a fence: {}", marked.to_string());
  }
}

void Residency::end_unnamed(StreamId stream, std::uint32_t gate_slot, std::uint32_t watch) {
  end_use({}, stream, {.kind = Use::Kind::kGate, .gate_slot = gate_slot, .watch = watch});
}

void Residency::note_written(Run& run) {
  const std::uint64_t epoch = run.used.load();
  raise_to(run.written, epoch);
  if (tracker_.log().is_on()) tracker_.log().note_write(run, epoch);
}

Status Residency::ensure(Run* run, StreamId stream, Contents contents) {
  {
    MutexLock lock(mutex_);
    if (contents == Contents::kUndefined && run->lives_alone()) {
      for (Run* part : with_parts({&run, 1})) TESSERA_TRY(transfers_.discard(*part));
    }
    if (rows_.is_too_large(*run)) rows_.make(*run);
    if (run->is_row.load()) return {};  // its pages come when they are used
  }
  TESSERA_TRY(fetch_and_hold({&run, 1}, stream, {}));
  held_uses_.let_go({&run, 1});
  return {};
}

// The stream is stamped first: a reader of the run's stamp must find that the stream has not passed it. An epoch that
// was closed meanwhile is not used: the thread that closed it (in start_eviction()) may have read the run's streams
// before this stream was among them. It closes first and then reads; this stamps first and then checks, so one side
// always sees the other.
std::uint64_t Residency::note_free(Run* run, StreamId stream) {
  if (run->is_row.load(std::memory_order_acquire)) [[unlikely]]
    end_block(*run);
  if (stream == kNoStream) return 0;
  expect_use(stream);
  const std::uint32_t slot = slot_for_use(stream);
  for (;;) {
    const std::uint64_t epoch = streams_.open_epoch();
    streams_.note_use(slot, epoch);
    note_stream(*run, bit_of(stream, slot));
    raise_to(run->freed, epoch);
    if (streams_.epoch() < epoch) return epoch;
  }
}

// Without a fence here, the end of that work would be known only with the end of work queued later, when room is
// needed.
void Residency::fence_freed(StreamId stream) {
  if (!is_short() || stream == kNoStream) return;
  if (!mutex_.try_lock()) return;  // the holder of the lock may be waiting for this thread
  {
    const Status fenced = engine_.fence(std::uint64_t{1} << streams_.slot_of(stream));
    if (!fenced.is_ok()) log_line(LogLevel::kDebug, "a free has no fence: {}", fenced.to_string());
  }
  mutex_.unlock();
}

// Fails while a thread is inside the gate, which may have stamped and not queued yet. The epoch is read first.
std::uint64_t Residency::before_wait() const {
  const std::uint64_t epoch = streams_.epoch();
  return gate_.saw_all_out() ? epoch : 0;
}

void Residency::note_over(std::optional<StreamId> stream, std::uint64_t epoch) {
  if (epoch == 0) return;
  if (stream) {
    streams_.note_over(*stream, epoch);
  } else {
    streams_.note_all_over(epoch);
  }
}

Bytes Residency::spare_for_each_block() {
  MutexLock lock(mutex_);
  const IterationTracker::Extent largest = tracker_.largest_launch();
  const Bytes device = tiers_.device.usage().capacity, taken = engine_.pinned_bytes + largest.bytes;
  return (device - std::min(device, taken)) / std::max<std::size_t>(largest.blocks, 1);
}

void Residency::note_moved(std::span<const MovedBlock> moved) {
  MutexLock lock(mutex_);
  executor_.follow();
  tracker_.note_moved(moved);
}

Status Residency::poll_streams() {
  MutexLock lock(mutex_);
  const Status fenced = engine_.fence_all();
  if (!fenced.is_ok() && fenced.code() != Code::kNotReady)
    return fenced;  // after kNotReady, less work is known to be over
  return streams_.poll();
}

}  // namespace tessera
