#include "residency/eviction/partial_runs.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// Of the device, for the program's other blocks: at first, and at most.
constexpr std::uint64_t kLeastKept = 64, kMostKept = 8;
// Pages that change over at a time.
constexpr Bytes kPartBatch = 64_MiB;
// Room that is made in host memory may be in pieces that cannot be used, or what was loaded is spilled for it.
constexpr int kMostRetries = 16;
constexpr std::uint32_t kMostQuietPoints = 1 << 16;
// At one quiet point, which the program waits for: some milliseconds.
constexpr Bytes kMostBack = 128_MiB;

// The sooner, the less it costs to use the page in host memory from now on.
enum class Ease : std::uint8_t { kEmpty, kNear, kOnDevice, kInFile, kNever };

Ease ease_of(const Page& page) {
  switch (page.state) {
    case PageState::kEmpty:
    case PageState::kReachable: return Ease::kEmpty;
    case PageState::kCold: return page.is_near() ? Ease::kNear : Ease::kInFile;
    case PageState::kResident: return Ease::kOnDevice;
    default: return Ease::kNever;
  }
}

// By one call more than the one that asks. What it queues may be on the way already, or another device's work.
bool is_held_by_others(const Run& run) {
  const auto holds = [](const Run* part) { return part->holds.load() != 0; };
  return run.holds.load() > 1 || std::ranges::any_of(run.parts, holds) || (run.row != nullptr && holds(run.row));
}

// A callback recomputes all of a run at once.
bool may_be_partial(const Run& run) { return !run.is_pinned() && !run.recompute && !run.unfinished; }

// Runs of large blocks first, and of a block the last.
std::vector<Run*> in_order(Runs runs) {
  std::vector<Run*> result;
  std::ranges::copy_if(runs, std::back_inserter(result), [](const Run* run) { return may_be_partial(*run); });
  std::ranges::sort(result, [](const Run* a, const Run* b) {
    const Bytes whole_a = a->whole().shape.bytes(), whole_b = b->whole().shape.bytes();
    return whole_a != whole_b ? whole_a > whole_b : a->address > b->address;
  });
  return result;
}

}  // namespace

Bytes PartialRuns::kept() const { return std::max(kept_, engine_.tiers.device.usage().capacity / kLeastKept); }

Status PartialRuns::make_fit(Runs runs, Bytes excess) {
  if (engine_.held_uses.count() != 0) return Status(Code::kBusy, "calls in progress hold blocks");
  TESSERA_TRY_ASSIGN(const Bytes done, make_partial(runs, excess + kept()));
  if (done < excess) {
    return Status(Code::kOutOfMemory,
                  fmt::format("{} MiB of it would have to be used in host memory, and {} MiB can be: raise host-memory "
                              "or device-memory, or make the step smaller",
                              excess / 1_MiB, done / 1_MiB));
  }
  kept_ = std::max(kept_, done - excess);
  log_line(is_noted_ ? LogLevel::kInfo : LogLevel::kWarning,
           "a launch uses more memory than the device has: {} MiB of it are used in host memory from now on, over the "
           "link, which is slower",
           done / 1_MiB);
  is_noted_ = true;
  note_split();
  return {};
}

// In steps of what is kept at first: a launch waits for each.
Status PartialRuns::keep_more(Runs runs) {
  if (!engine_.any_in_host.load() || engine_.held_uses.count() != 0) return {};
  std::vector<Run*> partial;
  Bytes left;
  for (Run* const run : runs) {
    if (!run->whole().has(PageState::kZeroCopy)) continue;
    partial.push_back(run);
    left += run->bytes_in(PageState::kCold) + run->evicting_bytes();
  }
  const Bytes capacity = engine_.tiers.device.usage().capacity;
  const Bytes most = capacity / kMostKept - std::min(kept_, capacity / kMostKept);
  const Bytes step = std::min(std::max(left, capacity / kLeastKept), most);
  if (!left || !step) return {};
  const Result<Bytes> done = make_partial(partial, step);
  kept_ += std::max(done.is_ok() ? done.value() : Bytes(), step);  // what failed is not tried for each launch
  note_split();
  const Code code = done.status().code();
  return code == Code::kNotReady || code == Code::kOutOfMemory || code == Code::kBusy ? Status() : done.status();
}

// Returns the bytes that are used in host memory now and were not before: fewer if no more can be.
Result<Bytes> PartialRuns::make_partial(Runs runs, Bytes wanted) {
  TESSERA_TRY(settle(runs));
  const std::vector<Run*> candidates = in_order(runs);
  Bytes done;
  for (int rounds = 0; done < wanted;) {
    TESSERA_TRY_ASSIGN(const std::vector<PageRef> pages, choose(candidates, wanted - done));
    if (pages.empty()) break;
    const Result<Bytes> more = use_in_host(pages);
    if (more.is_ok()) {
      done += more.value();
      rounds = 0;
    } else if (more.status().code() != Code::kOutOfMemory) {
      return more.status();
    } else if (++rounds > kMostRetries) {
      break;
    } else if (const Status room = host_evictor_.make_room(pages.front().bytes()); !room.is_ok()) {
      if (room.code() != Code::kOutOfMemory) return room;
      break;
    }
  }
  return done;
}

// Pages in transfer get where they are going.
Status PartialRuns::settle(Runs runs) {
  std::vector<PageRef> copied;
  for (Run* const run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      TESSERA_TRY(transfers_.ends.settle(page));
      if (page->state == PageState::kEvicting) copied.push_back(page);
    }
  }
  return moves_.mover.vacate(copied);
}

// A batch of the easiest pages of the largest blocks.
Result<std::vector<PageRef>> PartialRuns::choose(Runs runs, Bytes wanted) {
  std::vector<PageRef> pages;
  Bytes bytes;
  const Bytes most = std::min(wanted, kPartBatch);
  for (const Ease ease : {Ease::kEmpty, Ease::kNear, Ease::kOnDevice, Ease::kInFile}) {
    for (Run* const run : runs) {
      for (std::uint32_t i = run->shape.pages(); i-- > 0 && bytes < most;) {
        const PageRef page{run, i};
        if (ease_of(*page) != ease) continue;
        pages.push_back(page);
        bytes += page.bytes();
      }
    }
    // One that is in the file alone is loaded, and is near then.
    if (ease == Ease::kInFile && !pages.empty()) {
      pages.resize(1);
      TESSERA_TRY(load(pages.front()));
    }
    if (!pages.empty()) break;
  }
  return pages;
}

Status PartialRuns::load(PageRef page) {
  for (int rounds = 0; !page->is_near(); ++rounds) {
    if (rounds > kMostRetries) return Status(Code::kOutOfMemory, "host memory has no room for a page from the file");
    const Status begun = transfers_.starts.load(page);
    if (begun.code() == Code::kBusy) {
      TESSERA_TRY(transfers_.any() ? transfers_.ends.finish(Transfers::Await::kOldest)
                                   : host_evictor_.make_room(page.bytes()));
      continue;
    }
    TESSERA_TRY(begun);
    TESSERA_TRY(transfers_.ends.settle(page));
    if (page->state != PageState::kCold) return Status(Code::kDataLoss, "a page was read back corrupt from the file");
  }
  return {};
}

Result<Bytes> PartialRuns::use_in_host(std::span<const PageRef> pages) {
  const Gate::Closed closed(engine_.gate);
  TESSERA_TRY(closed.status());
  if (engine_.held_uses.count() != 0) return Status(Code::kBusy, "calls in progress hold blocks");
  TESSERA_TRY(engine_.await_all_work());
  const StallWait waiting(engine_.stall, StallCause::kCopyOut);
  engine_.any_in_host.store(true);
  return moves_.zero_copy.begin(pages);
}

Result<Bytes> PartialRuns::exchange(std::span<const PageRef> in, std::span<const PageRef> out) {
  Result<Bytes> done = exchange_once(in, out);
  for (int rounds = 0; done.status().code() == Code::kOutOfMemory && rounds < kMostRetries; ++rounds) {
    if (!host_evictor_.make_room(out.front().bytes()).is_ok()) break;
    done = exchange_once(in, out);
  }
  const Code code = done.status().code();
  const bool is_refused = code == Code::kOutOfMemory || code == Code::kNotReady || code == Code::kBusy;
  return is_refused ? Bytes() : done;
}

// Where host memory has room for some pages only, as many are exchanged. Errors: kOutOfMemory where none has changed.
Result<Bytes> PartialRuns::exchange_once(std::span<const PageRef> in, std::span<const PageRef> out) {
  const Gate::Closed closed(engine_.gate);
  TESSERA_TRY(closed.status());
  if (engine_.held_uses.count() != 0) return Status(Code::kBusy, "calls in progress hold blocks");
  TESSERA_TRY(engine_.await_all_work());
  const StallWait waiting(engine_.stall, StallCause::kCopyOut);
  Bytes done;
  TESSERA_TRY_ASSIGN(done, moves_.zero_copy.begin(out));
  const auto left = std::ranges::find_if(out, [](const PageRef& page) { return page->state != PageState::kZeroCopy; });
  const auto coming = in.first(static_cast<std::size_t>(left - out.begin()));
  const Status came = moves_.zero_copy.end(coming);
  const auto is_there = [](const PageRef& page) { return page->state == PageState::kResident; };
  engine_.stats.exchanges += static_cast<std::uint64_t>(std::ranges::count_if(coming, is_there));
  if (!came.is_ok() && came.code() != Code::kOutOfMemory) return came;
  return done;  // where the driver has no memory left, pages return with bring_back()
}

// Pages that have returned too early are worth more patience.
void PartialRuns::note_split() {
  quiet_points_ = 0;
  if (has_returned_) wanted_quiet_points_ = std::min(wanted_quiet_points_ * 2, kMostQuietPoints);
  has_returned_ = false;
}

Status PartialRuns::make_whole(Run& run) {
  if (!run.has(PageState::kZeroCopy)) return {};
  std::vector<PageRef> pages;
  for (const PageRef& page : pages_of(run)) {
    if (page->state == PageState::kZeroCopy) pages.push_back(page);
  }
  TESSERA_TRY(device_evictor_.make_room(total_bytes(pages)));
  const Gate::Closed closed(engine_.gate);
  TESSERA_TRY(closed.status());
  if (is_held_by_others(run)) return Status(Code::kBusy, "calls in progress use the block");
  TESSERA_TRY(engine_.await_all_work());
  return moves_.zero_copy.end(pages);
}

Status PartialRuns::open_to_others(Runs runs) {
  if (!are_possible()) return {};
  for (Run* const run : runs) {
    if (run->has(PageState::kZeroCopy)) TESSERA_TRY(moves_.zero_copy.open_to_others(pages_of(*run)));
  }
  return {};
}

Status PartialRuns::begin_anew(Run& run) {
  if (!run.has(PageState::kZeroCopy)) return {};
  Run* const whole = &run;
  Status over = engine_.fence_all();
  for (Run* const part : with_parts({&whole, 1})) {
    if (over.is_ok()) over = engine_.waits.wait(part->users(), part->last_work(), StreamWaits::Bound::kPatience);
    if (over.is_ok()) TESSERA_TRY(moves_.zero_copy.discard_all(*part));
  }
  if (!over.is_ok()) log_line(LogLevel::kDebug, "a block begins in host memory: {}", over.to_string());
  return {};
}

void PartialRuns::bring_back() {
  if (++quiet_points_ < wanted_quiet_points_) return;
  const Bytes room = engine_.tiers.device.room();
  Bytes most = std::min(room - std::min(room, kept()), kMostBack);
  const Gate::Closed closed(engine_.gate);
  // Other threads may have launched meanwhile, and the work of a use that holds its runs may be another device's.
  if (!closed.is_closed() || engine_.held_uses.count() != 0) return;
  if (!engine_.streams.passed(StreamTable::kAllStreams, engine_.streams.epoch())) return;
  bool partial = false, reachable = false;
  for (Run& run : engine_.with(PageTrait::kZeroCopy)) partial |= bring_back(run, PageState::kZeroCopy, most);
  for (Run& run : engine_.with(PageTrait::kReachable)) reachable |= bring_back(run, PageState::kReachable, most);
  engine_.any_in_host.store(partial || reachable);
  if (!partial) kept_ = {};
}

// Up to `most` bytes of it, which are subtracted there. Returns whether pages stay. What launches name returns with the
// next of them.
bool PartialRuns::bring_back(Run& run, PageState from, Bytes& most) {
  Status status = moves_.zero_copy.discard_dead(run).status();
  const bool returns = from == PageState::kZeroCopy || engine_.visibility_of(run) == Visibility::kUnseen;
  for (std::uint32_t i = 0; returns && i < run.shape.pages() && status.is_ok(); ++i) {
    const PageRef page{&run, i};
    if (page->state != from || page.bytes() > most) continue;
    if (status = moves_.zero_copy.end({&page, 1}); !status.is_ok()) break;
    most -= page.bytes();
    has_returned_ |= from == PageState::kZeroCopy;
  }
  if (!status.is_ok()) log_line(LogLevel::kDebug, "a page stays in host memory: {}", status.to_string());
  return run.has(from);
}

}  // namespace tessera
