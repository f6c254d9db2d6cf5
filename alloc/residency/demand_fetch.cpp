#include "residency/demand_fetch.hpp"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

// Tries, each after a wait for work that held the memory and then progressed, or for the program's turn.
constexpr std::uint64_t kMostTries = 256;

// The run that keeps the call waiting: the one with the most bytes to fetch.
Run& latest_of(std::span<Run* const> runs) {
  const auto away = [](const Run* run) {
    return run->shape.bytes() - run->bytes_in(PageState::kResident) - run->bytes_in(PageState::kZeroCopy);
  };
  return **std::ranges::max_element(runs, {}, away);
}

}  // namespace

// Runs that have to be recomputed are so by then, after a call of `held`; both happen outside of the lock, so that a
// callback may wait for calls of other threads that need it. While only calls in progress on other threads hold the
// memory, waits until one of them lets go: they return by themselves.
Status DemandFetch::fetch_and_hold(std::span<Run* const> runs, StreamId stream, Oversized oversized, const Held& held) {
  std::optional<Bytes> share = wait_for_others(runs);
  Stall stall(locked_.log);
  const ProfilerRange shown(locked_.log.profiler(), "bring in", locked_.streams.open_epoch().value());
  Status in_the_way;
  std::uint64_t tries = 0, lost_turns = 0;
  for (bool turn_is_over = false;;) {
    if (turn_is_over) share = wait_for_others(runs);
    const std::uint32_t seen = locked_.held_uses.ends();
    {
      MutexLock lock(locked_.mutex);
      turn_is_over = share && locked_.tiers.device.usage().capacity < *share && ++lost_turns <= kMostTries;
      if (turn_is_over) continue;
      for (Run* run : runs) run->holds.fetch_add(1);
      stall.go_on();
      locked_.executor.follow();
      Run& latest = latest_of(runs);
      locked_.engine.stall = &stall;
      Status status = locked_.engine.turn.keeps_waiting(runs)
                          ? Status(Code::kBusy, "another call is recomputing blocks")
                          : locked_.fetcher.fetch(runs, stream, oversized);
      locked_.engine.stall = nullptr;
      const bool others = status.code() == Code::kBusy && locked_.engine.turn.may_wait();
      const bool stuck = status.code() == Code::kNotReady;
      if (!others && !stuck && stall.has_waited()) note_stall(stall, latest);
      locked_.executor.evict_to_watermarks();
      if (status.is_ok()) {
        locked_.held_uses.add();
        if (locked_.engine.turn.take_for(runs)) break;
        return status;
      }
      for (Run* run : runs) run->holds.fetch_sub(1);
      Recomputation::undo_mounts(locked_, runs);
      if (!others && !stuck) return status;
      in_the_way = status;
    }
    stall.step_aside(in_the_way.code() == Code::kNotReady ? StallCause::kWork : StallCause::kOtherCalls);
    if (in_the_way.code() == Code::kNotReady) {
      const Status news = await_news(in_the_way, tries);
      if (news.is_ok()) continue;
      MutexLock lock(locked_.mutex);
      stall.go_on();
      note_stall(stall, latest_of(runs));
      return news;
    }
    const ProfilerRange waits(locked_.log.profiler(), name_of(StallCause::kOtherCalls));
    if (locked_.held_uses.await_end(seen, locked_.options.patience * StreamWaits::kWholePatience)) continue;
    return Status(Code::kOutOfMemory, "calls in progress use device memory, and none has returned for a long time");
  }
  if (held) held();
  Status status = recomputation_.recompute(runs, stream);
  if (status.is_ok()) return status;
  locked_.held_uses.let_go(runs);
  MutexLock lock(locked_.mutex);
  Recomputation::undo_mounts(locked_, runs);
  return status;
}

// What fails is not repaired here: a page that is apart or lost is fetched, or is an error, at its next use.
void DemandFetch::review_split() {
  Stall stall(locked_.log);
  MutexLock lock(locked_.mutex);
  if (!locked_.review_due.load()) return;  // another thread was first
  stall.go_on();
  locked_.engine.stall = &stall;
  const Result<Run*> gained = locked_.review.revise();
  locked_.engine.stall = nullptr;
  note_given_up(gained.status());
  if (gained.is_ok() && gained.value() != nullptr && stall.has_waited()) note_stall(stall, *gained.value());
}

// For other programs, which may have the device now. Returns what the runs need if there was room for it.
std::optional<Bytes> DemandFetch::wait_for_others(std::span<Run* const> runs) const {
  if (!locked_.options.before_fetch) return std::nullopt;
  Bytes needed, there;
  {
    const MutexLock lock(locked_.mutex);
    for (const Run* run : runs) {
      needed += run->shape.bytes();
      there += run->bytes_in(PageState::kResident);
    }
  }
  return locked_.options.before_fetch(needed, needed - there) ? std::optional(needed) : std::nullopt;
}

// Work that does not end holds the memory. What it waits for may be a launch that another thread is about to make,
// which needs the lock.
Status DemandFetch::await_news(const Status& in_the_way, std::uint64_t& tries) {
  const Status no_room(Code::kOutOfMemory, std::string(in_the_way.message()));
  const std::uint64_t stuck = locked_.waits.stuck();
  // The work progressed, or a launch does not return, for which each try has waited.
  if (stuck == 0 || tries > kMostTries) return ++tries > StreamWaits::kWholePatience ? no_room : Status();
  ++tries;
  bool news = false;
  TESSERA_TRY_ASSIGN(news, locked_.waits.await_news(stuck));
  return news ? Status() : no_room;
}

void DemandFetch::note_stall(const Stall& stall, Run& run) {
  const Nanoseconds end = locked_.log.now();
  const StallParts parts = stall.parts(end);
  locked_.engine.stats.stalls += 1;
  locked_.engine.stats.stall_time += end - stall.begin();
  add_parts(locked_.engine.stats.stall_parts, parts);
  Run& block = run.whole();
  block.cost.stalls += 1;
  block.cost.stalled += end - stall.begin();
  locked_.log.record({EventKind::kStall, static_cast<std::uint16_t>(locked_.device.value()), stall.begin(), end,
                      block.address, block.shape.bytes(), stall.main_cause()},
                     parts);
}

}  // namespace tessera
