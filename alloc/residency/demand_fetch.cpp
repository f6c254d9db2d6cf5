// A use with missing runs: the call that waits for them.
#include <algorithm>
#include <string>

#include "residency/residency.hpp"

namespace tessera {
namespace {

// Tries, each after a wait for work that held the memory and then progressed.
constexpr std::uint64_t kMostTries = 256;

// The run that keeps the call waiting: the one with the most bytes to fetch.
Run& latest_of(std::span<Run* const> runs) {
  const auto away = [](const Run* run) { return run->shape.bytes() - run->bytes_in(PageState::kResident); };
  return **std::ranges::max_element(runs, {}, away);
}

}  // namespace

// On success the runs are held. Runs that have to be recomputed are so by then, after a call of `held`; both happen
// outside of the lock, so that a callback may wait for calls of other threads that need it. While only calls in
// progress on other threads hold the memory, waits until one of them lets go: they return by themselves.
Status Residency::fetch_and_hold(std::span<Run* const> runs, StreamId stream, const Held& held) {
  Stall stall(log_);
  const ProfilerRange shown(log_.profiler(), "bring in", streams_.open_epoch());
  Status in_the_way;
  std::uint64_t tries = 0;
  for (;;) {
    const std::uint32_t seen = held_uses_.ends();
    {
      MutexLock lock(mutex_);
      for (Run* run : runs) run->holds.fetch_add(1);
      stall.go_on();
      executor_.follow();
      Run& latest = latest_of(runs);
      engine_.stall = &stall;
      Status status = engine_.turn.keeps_waiting(runs) ? Status(Code::kBusy, "another call is recomputing blocks")
                                                       : fetcher_.fetch(runs, stream);
      engine_.stall = nullptr;
      const bool others = status.code() == Code::kBusy && engine_.turn.may_wait();
      const bool stuck = status.code() == Code::kNotReady;
      if (!others && !stuck && stall.has_waited()) note_stall(stall, latest);
      executor_.evict_to_watermarks();
      if (status.is_ok()) {
        held_uses_.add();
        if (engine_.turn.take_for(runs)) break;
        return status;
      }
      for (Run* run : runs) run->holds.fetch_sub(1);
      undo_mounts(runs);
      if (!others && !stuck) return status;
      in_the_way = status;
    }
    stall.step_aside(in_the_way.code() == Code::kNotReady ? StallCause::kWork : StallCause::kOtherCalls);
    if (in_the_way.code() == Code::kNotReady) {
      const Status news = await_news(in_the_way, tries);
      if (news.is_ok()) continue;
      MutexLock lock(mutex_);
      stall.go_on();
      note_stall(stall, latest_of(runs));
      return news;
    }
    const ProfilerRange waits(log_.profiler(), name_of(StallCause::kOtherCalls));
    if (held_uses_.await_end(seen, options_.patience * StreamTable::kWholePatience)) continue;
    return Status(Code::kOutOfMemory, "calls in progress use device memory, and none has returned for a long time");
  }
  if (held) held();
  Status status = recompute(runs, stream);
  if (status.is_ok()) return status;
  held_uses_.let_go(runs);
  MutexLock lock(mutex_);
  undo_mounts(runs);
  return status;
}

// Work that does not end holds the memory. What it waits for may be a launch that another thread is about to make,
// which needs the lock.
Status Residency::await_news(const Status& in_the_way, std::uint64_t& tries) {
  const Status no_room(Code::kOutOfMemory, std::string(in_the_way.message()));
  const std::uint64_t stuck = streams_.stuck();
  // The work progressed, or a launch does not return, for which each try has waited.
  if (stuck == 0 || tries > kMostTries) return ++tries > StreamTable::kWholePatience ? no_room : Status();
  ++tries;
  bool news = false;
  TESSERA_TRY_ASSIGN(news, streams_.await_news(stuck));
  return news ? Status() : no_room;
}

void Residency::note_stall(const Stall& stall, Run& run) {
  const Nanoseconds end = log_.now();
  const StallParts parts = stall.parts(end);
  engine_.stats.stalls += 1;
  engine_.stats.stall_time += end - stall.begin();
  add_parts(engine_.stats.stall_parts, parts);
  Run& block = run.whole();
  block.cost.stalls += 1;
  block.cost.stalled += end - stall.begin();
  log_.record({EventKind::kStall, static_cast<std::uint16_t>(device_.value()), stall.begin(), end, block.address,
               block.shape.bytes(), stall.main_cause()},
              parts);
}

}  // namespace tessera
