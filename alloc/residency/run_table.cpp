#include "residency/run_table.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/log.hpp"
#include "residency/pages/row.hpp"
#include "residency/recomputation.hpp"

namespace tessera {

RunTable::~RunTable() {
  while (true) {
    Run* run = nullptr;
    {
      MutexLock lock(locked_.mutex);
      if (!locked_.engine.runs.empty()) run = locked_.engine.runs.back().get();
      if (run != nullptr && !run->whole().is_range) run = &run->whole();
    }
    if (run == nullptr) break;
    const Status status = remove(run);
    if (status.is_ok()) continue;
    log_line(LogLevel::kDebug, "a run could not be released at shutdown: {}", status.to_string());
    if (status.code() == Code::kBusy) break;  // a call has not ended; what it holds is leaked
  }
}

Result<Run*> RunTable::add(Address address, RunShape shape, TagId tag, RunOwner owner) {
  auto run = std::make_unique<Run>(address, shape, tag, owner);
  MutexLock lock(locked_.mutex);
  Bytes heap = locked_.tiers.capacity();
  if (locked_.engine.stats.run_bytes + shape.bytes() > heap) {
    locked_.tiers.device.regain(DeviceTier::Ask::kNow);
    locked_.tiers.host.reclaim();
    heap = locked_.tiers.capacity();
  }
  if (locked_.engine.stats.run_bytes + shape.bytes() > heap) {
    return Status(Code::kOutOfMemory,
                  fmt::format("{} MiB more do not fit: all tiers hold {} MiB, of which {} MiB are taken",
                              shape.bytes() / 1_MiB, heap / 1_MiB, locked_.engine.stats.run_bytes / 1_MiB));
  }
  locked_.engine.stats.run_bytes += shape.bytes();
  const bool fits = locked_.engine.stats.run_bytes <= locked_.tiers.device.usage().capacity;
  if (!fits && !locked_.tiers.is_backed()) locked_.tracker.note_shortage();
  run->index = locked_.engine.runs.size();
  locked_.engine.runs.push_back(std::move(run));
  return locked_.engine.runs.back().get();
}

void RunTable::disown(Run* run) {
  MutexLock lock(locked_.mutex);
  run->owner = {};
  for (Run* part : run->parts) {
    part->live.store(run->live.load());
    part->owner = {};
  }
}

Status RunTable::remove(Run* run) {
  MutexLock lock(locked_.mutex);
  const std::vector<Run*> parts = with_parts({&run, 1});
  // Calls that hold its range use other runs there.
  const auto is_held = [run](const Run* part) { return part->holds.load() != 0 || run->holds.load() != 0; };
  if (std::ranges::any_of(parts, is_held)) return Status(Code::kBusy, "a call in progress uses the block");
  // A caller that found the run before it was removed from the page map has noted its launch by now.
  const Status fenced = locked_.engine.fence_all();
  Status result;
  for (Run* part : parts) {
    if (result.is_ok()) result = locked_.await_uses(*part, fenced);
    if (result.is_ok()) result = locked_.transfers.ends.await_way_out(*part);
  }
  if (result.code() == Code::kNotReady) return Status(Code::kBusy, std::string(result.message()));
  TESSERA_TRY(locked_.rows.leave_range(*run));
  locked_.executor.follow();
  locked_.executor.forget(*run);
  run->live.store(0);
  run->owner = {};
  if (run->pins.exchange(0) != 0) locked_.engine.pinned_bytes -= run->shape.bytes();
  locked_.engine.stats.costliest.offer({run->address, run->shape.bytes(), run->tag, true, run->cost});
  locked_.engine.stats.run_bytes -= run->shape.bytes();
  for (Run* part : parts) {
    if (part != run) locked_.executor.forget(*part);
    const Status unfinished = Recomputation::await_unfinished(locked_, *part);
    if (result.is_ok()) result = unfinished;
    const Status removed = locked_.rows.remove(*part);
    if (result.is_ok()) result = removed;
  }
  std::erase_if(locked_.engine.rows, [run](const auto& row) { return row.get() == run; });
  return result;
}

Result<std::unique_ptr<const Extents>> RunTable::set_extents(Run* run, std::optional<Extents> extents) {
  MutexLock lock(locked_.mutex);
  if (extents) names_parts_.store(true);
  return locked_.rows.set_extents(*run, std::move(extents));
}

Result<std::unique_ptr<const Extents>> RunTable::follow(Run* run, LiveExtents& live) {
  MutexLock lock(locked_.mutex);
  names_parts_.store(true);
  return locked_.rows.follow(*run, live);
}

void RunTable::keep_whole(Run* run) {
  MutexLock lock(locked_.mutex);
  locked_.rows.keep_whole(*run);
}

void RunTable::expect_parts(Run* run) {
  MutexLock lock(locked_.mutex);
  if (locked_.rows.can_be_row(*run)) locked_.rows.make(*run);
}

// Its frames are mapped there, and its copies in lower tiers stay as they are. A program that maps memory itself
// decides which address stands for which bytes, and may change that at any time. For the learner the run at the new
// address is another one.
Status RunTable::rehome(Run* run, Address to, Run* range) {
  MutexLock lock(locked_.mutex);
  const std::vector<Run*> parts = with_parts({&run, 1});
  const auto is_held = [run](const Run* part) { return part->holds.load() != 0 || run->holds.load() != 0; };
  if (std::ranges::any_of(parts, is_held)) return Status(Code::kBusy, "a call in progress uses the block");
  const Status fenced = locked_.engine.fence_all();
  Status over;
  for (Run* const part : parts) {
    if (over.is_ok()) over = locked_.await_uses(*part, fenced);
    if (over.is_ok()) over = locked_.transfers.ends.await_way_out(*part);
  }
  if (over.code() == Code::kNotReady) return Status(Code::kBusy, std::string(over.message()));
  TESSERA_TRY(over);
  if (run->awaits_recompute()) return Status(Code::kBusy, "only a callback has the bytes of the block");
  for (Run* const part : parts) TESSERA_TRY(settle(*part));
  locked_.executor.follow();  // launches so far count for the run at its old address
  TESSERA_TRY(locked_.rows.rehome(*run, to, range));
  locked_.executor.forget(*run);
  for (Run* const part : parts) {
    if (part != run) locked_.executor.forget(*part);
    part->prefetch.requested = false;
  }
  if (run->pins.exchange(0) != 0) locked_.engine.pinned_bytes -= run->shape.bytes();
  run->exposure = {};
  run->prefetch.requested = false;
  run->recompute.reset();
  run->recomputed_in.store(0);
  run->uses.next = 0;
  return {};
}

// On return no transfer of the run is in flight. A failed read of the file is reported by the next use.
Status RunTable::settle(Run& run) {
  run.quiet = run.last_work();
  std::vector<PageRef> copied;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    const Status settled = locked_.transfers.ends.settle(page);
    if (page->state == PageState::kEvicting) {
      copied.push_back(page);
    } else if (is_moving(page->state)) {
      return settled.is_ok() ? Status(Code::kBusy, "a page of the block is in transfer") : settled;
    }
  }
  return locked_.moves.mover.vacate(copied);
}

}  // namespace tessera
