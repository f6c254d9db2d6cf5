// The path of a launch with all pages present, inline so that the compiler sees all of it.
//
// Thread safety: as residency.hpp, the only file that includes this one.
#pragma once

#include "residency/residency.hpp"

namespace tessera {

inline bool all_present(Runs runs) {
  return std::ranges::all_of(runs, [](const Run* run) { return run->missing.load() == 0; });
}

inline std::uint64_t bit_of(StreamId stream, std::uint32_t slot) {
  return stream == kNoStream ? 0 : std::uint64_t{1} << slot;
}

inline void note_stream(Run& run, std::uint64_t bit) {
  if ((run.streams.load(std::memory_order_relaxed) & bit) != bit) run.streams.fetch_or(bit);
}

inline bool Residency::has_work() const {
  return locked_.in_flight.load(std::memory_order_relaxed) != 0 || locked_.tracker.has_news() ||
         locked_.awaits_room.load(std::memory_order_relaxed);
}

inline void Residency::expect_use(StreamId stream) {
  if (stream == kPerThreadStream && !own_streams_.load(std::memory_order_relaxed)) expect_own_streams();
}

inline std::uint32_t Residency::slot_for_use(StreamId stream) {
  return stream == kNoStream ? 0 : locked_.streams.slot_of(stream);
}

template <class Find>
bool Residency::try_use(Find find, StreamId stream, Access access, Use& use) {
  expect_use(stream);
  const std::uint32_t gate_slot = locked_.gate.enter();
  const std::optional<std::span<Run* const>> runs = find();
  if (!runs || !all_present(*runs)) {
    locked_.gate.leave(gate_slot);
    return false;
  }
  locked_.counts.add(gate_slot, runs->size());  // the slot is the thread's number
  use = {.kind = Use::Kind::kGate, .work = use.work, .gate_slot = gate_slot};
  const Epoch epoch = stamp_all(*runs, stream, slot_for_use(stream), access);
  if (locked_.tracker.log().is_on()) notes_.note_launch(*runs, stream, epoch, access, use);
  return true;
}

// REQUIRES: inside the gate.
//
// A launch stamps with plain stores, so of two concurrent launches (or a launch and a free, the work of which is queued
// by then) that stamp the same run or stream, the smaller epoch may remain. That is sufficient: both are inside the
// gate, so the engine neither reads a stamp nor records a fence before both are out, and every earlier epoch or label
// is smaller than either. (The run was stamped after this epoch was drawn, and a greater label can only be noted after
// that too.) Only the fences of per-thread default streams are recorded with the gate open; once there is such a
// stream, stamps only rise.
inline Epoch Residency::stamp_all(std::span<Run* const> runs, StreamId stream, std::uint32_t slot, Access access) {
  if (own_streams_.load(std::memory_order_relaxed)) [[unlikely]]
    return stamp_rising(runs, stream, slot, access);
  const Epoch epoch = locked_.streams.tick();
  const std::uint64_t bit = bit_of(stream, slot);
  const auto stamp = [epoch](std::atomic<Epoch>& of) {
    const Epoch before = of.load(std::memory_order_relaxed);
    if (before < epoch) of.store(epoch, std::memory_order_release);
    return before;
  };
  for (Run* const run : runs) {
    const Epoch before = stamp(run->used);
    if (!before.is_never() && before < epoch) run->gap.store(epoch - before, std::memory_order_relaxed);
    if (access == Access::kWrite) stamp(run->written);
    note_stream(*run, bit);
  }
  if (bit != 0) locked_.streams.note_use_inside(slot, epoch);
  return epoch;
}

inline void Residency::note_use(std::span<Run* const> runs, StreamId stream, std::uint32_t slot, Access access,
                                Use& use) {
  const Epoch epoch = stamp_all(runs, stream, slot, access);
  if (locked_.tracker.log().is_on()) notes_.note_launch(runs, stream, epoch, access, use);
}

// `use` by reference: a copy with wider loads than the stores that just wrote it would stall until they complete.
inline void Residency::end_use(std::span<Run* const> runs, StreamId stream, const Use& use) {
  const bool plain = use.kind == Use::Kind::kGate && use.watch == Use::kNoWatch && stream != kPerThreadStream;
  if (!plain) return end_other_use(runs, stream, use);
  locked_.gate.leave(use.gate_slot);
  if (locked_.tracker.log().calls()) keep_to_plan();
}

}  // namespace tessera
