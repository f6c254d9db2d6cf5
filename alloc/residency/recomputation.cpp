#include "residency/recomputation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"

namespace tessera {
namespace {

Status refused(const Run& run, const Status& reason) {
  return Status(reason.code(),
                fmt::format("the block at {:#x} could not be recomputed: {}", run.address.value(), reason.message()),
                reason.native_code());
}

}  // namespace

Status Recomputation::set(Run* run, Recompute recompute) {
  MutexLock lock(locked_.mutex);
  if (run->owner.words.size() > 1) return {};  // shared by small blocks, which are evicted together
  // A callback makes all bytes at once, and a row moves by parts; what is written in a range is stamped on the range.
  if (run->is_row.load() || run->row != nullptr) return {};
  if (!recompute.work) {
    if (run->awaits_recompute() && !run->is_dead()) {
      return Status(Code::kBusy, "no copy of its bytes exists until its callback recomputes them: use it first");
    }
    run->recompute.reset();
    run->recomputed_in.store(0);
    return {};
  }
  // Bytes that are away are those of the previous callback.
  const bool away = run->awaits_recompute() && run->can_recompute();
  recompute.cost = std::max(recompute.cost, Nanoseconds(1));
  recompute.written = away ? run->recompute->written : run->written.load();
  recompute.life = run->life();
  run->recomputed_in.store(recompute.cost.value());
  run->recompute = std::move(recompute);
  return {};
}

// ---- calling callbacks --------------------------------------------------------------------------

Status Recomputation::recompute(std::span<Run* const> runs, StreamId stream) {
  const StreamId on = stream == kNoStream ? locked_.lanes->inbound(kHostLane) : stream;
  Status status;
  for (Run* run : runs) {
    if (status.is_ok()) status = recompute(*run, on);
  }
  MutexLock lock(locked_.mutex);
  locked_.engine.turn.give_back();
  locked_.held_uses.wake();
  return status.is_ok() && stream == kNoStream ? locked_.transfers.ends.await_arrivals(runs, stream) : status;
}

Status Recomputation::await_unfinished(LockedEngine& locked, Run& run) {
  if (!run.unfinished) return {};
  if (!locked.driver.synchronize(*run.unfinished).is_ok()) TESSERA_TRY(locked.await_device());
  run.unfinished.reset();
  return {};
}

Status Recomputation::recompute(Run& run, StreamId on) {
  std::function<Status(StreamId)> work;
  {
    MutexLock lock(locked_.mutex);
    if (!run.is_blank() || run.being_recomputed) return {};
    TESSERA_TRY(await_unfinished(locked_, run));
    if (run.can_recompute()) work = run.recompute->work;
    run.being_recomputed = true;
  }
  Status made;
  if (work) {
    const InsideCallback inside;
    const ProfilerRange shown(locked_.log.profiler(), "recompute", locked_.streams.open_epoch().value());
    made = work(on);
  }
  const bool over = !made.is_ok() && locked_.driver.synchronize(on).is_ok();
  MutexLock lock(locked_.mutex);
  run.being_recomputed = false;
  if (work && !over) run.unfinished = on;
  if (!made.is_ok()) return refused(run, made);
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (page->state != PageState::kBlank) continue;
    TESSERA_TRY(work ? locked_.transfers.starts.await_recompute(page, on) : locked_.moves.recomputes.accept(page));
  }
  if (!work) return {};
  run.unfinished.reset();                       // now tracked by its pages
  run.recompute->written = run.written.load();  // not written meanwhile: it was missing
  locked_.engine.stats.recomputes += 1;
  locked_.engine.stats.recompute_time += run.recompute->cost;
  return {};
}

void Recomputation::undo_mounts(LockedEngine& locked, Runs runs) {
  for (Run* run : runs) {
    if (!run->has(PageState::kBlank) || !run->is_evictable()) continue;
    Status status = await_unfinished(locked, *run);
    if (status.is_ok()) status = locked.moves.recomputes.undo_mount(*run);
    if (!status.is_ok()) {
      log_line(LogLevel::kDebug, "a frame without recomputed bytes could not be freed: {}", status.to_string());
    }
  }
}

}  // namespace tessera
