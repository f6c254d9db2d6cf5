// Who comes: bringing runs into device memory for a use.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

// By the runs' own addresses: where the system put our records must not decide who comes first.
bool is_before(const Run* a, const Run* b) { return a->address < b->address; }

std::vector<Run*> distinct(std::span<Run* const> runs) {
  std::vector<Run*> result(runs.begin(), runs.end());
  std::sort(result.begin(), result.end(), is_before);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// What comes takes its room in parts of this size: few enough calls, and soon enough a first one.
constexpr Bytes kPart = 64_MiB;
// A device of which so much is used may soon be short of memory.
constexpr std::uint32_t kCrowdedPercent = 75;
// The driver may be out of memory though the budget is not; so often more leaves to help it.
constexpr int kMountRounds = 16;

// Who keeps the call waiting: the run with the most bytes to come.
Run& latest_of(std::span<Run* const> runs) {
  const auto away = [](const Run* run) { return run->shape.bytes() - run->bytes_in(PageState::kResident); };
  return **std::ranges::max_element(runs, {}, away);
}

Status data_loss(PageRef page) {
  return Status(Code::kDataLoss, fmt::format("the page at {:#x} came back corrupt from the spill file",
                                             page.address().value()));
}

}  // namespace

// Success leaves the runs held. Those that have to be remade are, by then, behind a call of `held`: outside of
// the lock, so that a callback may wait for what others do under it. While only calls under way on
// other threads are in the way, waits until one of them lets go: they return by themselves.
Status Residency::fetch_and_hold(std::span<Run* const> runs, StreamId stream, const Held& held) {
  Stall stall(log_);
  const ProfilerRange shown(log_.profiler(), "bring in", streams_.open_epoch());
  for (;;) {
    const std::uint32_t seen = let_go_.load();
    {
      MutexLock lock(mutex_);
      for (Run* run : runs) run->holds.fetch_add(1);
      stall.go_on();
      follow_plan();
      Run& latest = latest_of(runs);
      stall_ = &stall;
      Status status = turn_.keeps_waiting(runs) ? Status(Code::kBusy, "another call remakes blocks")
                                                : fetch(runs, stream);
      stall_ = nullptr;
      const bool others = status.code() == Code::kBusy && turn_.may_wait();
      if (!others && stall.has_waited()) note_stall(stall, latest);
      work_ahead();
      if (status.is_ok()) {
        held_uses_.fetch_add(1);
        if (turn_.take_for(runs)) break;
        return status;
      }
      for (Run* run : runs) run->holds.fetch_sub(1);
      undo_mounts(runs);
      if (!others) return status;
    }
    stall.step_aside();
    const ProfilerRange waits(log_.profiler(), name_of(StallCause::kOtherCalls));
    let_go_.wait(seen);
  }
  if (held) held();
  Status status = remake(runs, stream);
  if (status.is_ok()) return status;
  let_go(runs);
  MutexLock lock(mutex_);
  undo_mounts(runs);
  return status;
}

void Residency::note_stall(const Stall& stall, Run& run) {
  const Nanoseconds end = log_.now();
  const StallParts parts = stall.parts(end);
  stats_.stalls += 1;
  stats_.stall_time += end - stall.begin();
  add_parts(stats_.stall_parts, parts);
  run.cost.stalls += 1;
  run.cost.stalled += end - stall.begin();
  log_.record({EventKind::kStall, static_cast<std::uint16_t>(device_.value()), stall.begin(), end,
               run.address, run.shape.bytes(), stall.main_cause()}, parts);
}

Status Residency::check_fits(std::span<Run* const> runs) const {
  Bytes wanted, pinned = pinned_bytes_;
  for (const Run* run : runs) {
    wanted += run->shape.bytes();
    if (run->pins.load() != 0) pinned -= run->shape.bytes();
  }
  const Bytes capacity = tiers_.device.usage().capacity;
  if (wanted + pinned <= capacity) return {};
  return Status(Code::kOutOfMemory,
                fmt::format("one step of work uses {} MiB at once, device memory has {} MiB of "
                            "which {} MiB are pinned: give it more, or make the step smaller",
                            wanted / 1_MiB, capacity / 1_MiB, pinned / 1_MiB));
}

Status Residency::fetch(std::span<Run* const> runs, StreamId stream) {
  if (stream != kNoStream) {  // news of this stream's progress, as fine-grained as its misses
    const Gate::Closed closed(gate_);
    TESSERA_TRY(streams_.fence(std::uint64_t{1} << streams_.slot_of(stream), StreamTable::kAllSoFar));
  }
  const std::vector<Run*> wanted = distinct(runs);
  TESSERA_TRY(bring_in(wanted));
  return await_arrivals(wanted, stream);
}

// Every page has its frame and its copy under way. REQUIRES: sorted runs, each once.
Status Residency::bring_in(std::span<Run* const> runs) {
  TESSERA_TRY(check_fits(runs));
  std::vector<PageRef> pages;
  TESSERA_TRY_ASSIGN(pages, absent_pages(runs));
  if (pages.empty()) return {};
  TESSERA_TRY(check_backing(pages));
  Status room = bring_by_parts(pages);
  if (room.is_ok()) return room;
  if (room.code() != Code::kOutOfMemory || pages.size() == 1) return room;
  std::erase_if(pages, [](const PageRef& page) { return is_mapped(page->state); });
  return bring_one_by_one(pages);  // the tiers below are too full to swap all at once
}

// All that has to leave begins to; what comes takes its room as it becomes free, so that both
// directions of the link are busy.
Status Residency::bring_by_parts(std::span<const PageRef> pages) {
  TESSERA_TRY(finish_moves(Await::kNone));
  const Bytes wanted = total_bytes(pages), room = tiers_.device.usage().room() + mover_.going();
  if (room < wanted) TESSERA_TRY(page_out(wanted - room, Patience::kDemand).status());
  for (std::size_t first = 0; first < pages.size();) {
    std::size_t end = first;
    for (Bytes part; end < pages.size() && part < kPart; ++end) part += pages[end].bytes();
    const auto part = pages.subspan(first, end - first);
    TESSERA_TRY(make_room(total_bytes(part)));
    TESSERA_TRY(bring({part.begin(), part.end()}));
    first = end;
  }
  return {};
}

Result<std::vector<PageRef>> Residency::absent_pages(std::span<Run* const> runs) {
  std::vector<PageRef> pages;
  for (Run* run : runs) {
    run->coming = false;
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      if (page->state == PageState::kSinking || page->state == PageState::kRising) {
        TESSERA_TRY(settle(page));
      }
      if (page->state == PageState::kLost) return data_loss(page);
      if (is_mapped(page->state)) continue;
      if (page->state == PageState::kCold) stats_.late_fetches += 1;
      pages.push_back(page);
    }
  }
  return pages;
}

// Once a spill file takes no more, new pages must leave the staging reserve free: pages that have
// nowhere else to go would fill it, and then nothing could be brought back.
Status Residency::check_backing(std::span<const PageRef> pages) const {
  Bytes wanted, backed;
  for (const PageRef& page : pages) {
    if (page->state == PageState::kEmpty) wanted += page.bytes();
  }
  const Bytes file = tiers_.file.reach();
  if (!wanted || file == tiers_.file.usage().capacity) return {};
  for (const auto& run : runs_) {
    if (!run->is_dead()) backed += run->shape.bytes() - run->bytes_in(PageState::kEmpty);
  }
  const Bytes room = tiers_.device.usage().capacity + tiers_.host.usage().capacity + file;
  if (backed + wanted <= room) return {};
  return Status(Code::kOutOfMemory,
                fmt::format("the spill file takes no more: {} MiB are needed, {} of {} MiB are in use",
                            wanted / 1_MiB, backed / 1_MiB, room / 1_MiB));
}

// REQUIRES: room for all of them. Reads from the file are started as far as host frames go, and
// each page is mounted as soon as its bytes are in host memory.
Status Residency::bring(std::vector<PageRef> pages) {
  for (int rounds = 0; !pages.empty();) {
    std::vector<PageRef> ready, waiting;
    for (const PageRef& page : pages) {
      bool there = false;
      TESSERA_TRY_ASSIGN(there, on_host(page));
      (there ? ready : waiting).push_back(page);
    }
    const Status mounted = mount_and_note(ready);
    if (mounted.code() == Code::kOutOfMemory && rounds++ < kMountRounds) {
      // What makes room may send these on to the file: they are asked for again.
      std::erase_if(pages, [](const PageRef& page) { return is_mapped(page->state); });
      TESSERA_TRY(help_driver(total_bytes(pages), mounted));
      continue;
    }
    TESSERA_TRY(mounted);
    pages = std::move(waiting);
    if (!ready.empty() || pages.empty()) continue;
    const auto rising = std::find_if(pages.begin(), pages.end(), [](const PageRef& page) {
      return page->state == PageState::kRising;
    });
    if (rising != pages.end()) {
      TESSERA_TRY(settle(*rising));
    } else if (!moving_.empty()) {
      TESSERA_TRY(finish_moves(Await::kOldest));
    } else {
      TESSERA_TRY(make_host_room(pages.front().bytes()));
    }
  }
  return {};
}

Status Residency::bring_one_by_one(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    TESSERA_TRY(make_room(page.bytes()));
    TESSERA_TRY(bring({page}));
    TESSERA_TRY(settle(page));  // its host frame is free for the next one to leave into
  }
  return {};
}

// Whether the page can be mounted now; if not, its read from the file is started or going on.
Result<bool> Residency::on_host(PageRef page) {
  if (page->state == PageState::kSinking) TESSERA_TRY(settle(page));
  if (page->state == PageState::kRising) {
    const Result<bool> done = mover_.finish_rise(page, false);
    if (!done.is_ok() || done.value()) forget(page);
    return done;
  }
  if (page->state == PageState::kLost) return data_loss(page);
  const bool comes_by_copy = page->state == PageState::kCold;
  if (!comes_by_copy || page->host) return true;
  spare_host_room(page.bytes());
  const Status status = mover_.rise(page);
  if (status.is_ok()) started(page);
  if (!status.is_ok() && status.code() != Code::kBusy) return status;
  return false;
}

// The driver has no memory left though the budget has: as many bytes leave, and what is spare goes back.
// Errors: `refusal` when there is nothing that could leave.
Status Residency::help_driver(Bytes bytes, const Status& refusal) {
  Bytes leaving;
  TESSERA_TRY_ASSIGN(leaving, page_out(bytes, Patience::kDemand));
  if (!leaving && moving_.empty()) return refusal;
  TESSERA_TRY(finish_moves(Await::kOldest));
  tiers_.device.trim();
  return {};
}

Status Residency::mount_and_note(std::span<const PageRef> pages) {
  const auto swaps = [](const PageRef& page) { return page->state == PageState::kCold; };
  Status status;
  if (tiers_.is_backed() && std::any_of(pages.begin(), pages.end(), swaps)) {
    const Gate::Closed closed(gate_);
    TESSERA_TRY(await_all_work());
    const StallWait waiting(stall_, StallCause::kCopyIn);
    status = mover_.mount(pages);
  } else {
    status = mover_.mount(pages);
  }
  for (const PageRef& page : pages) {
    if (page->state == PageState::kArriving) started(page);
  }
  // Somebody will have to leave before long: then host memory should be pinned already.
  const TierUsage device = tiers_.device.usage();
  if (!tiers_.is_backed() && device.used >= device.capacity * kCrowdedPercent / 100) {
    tiers_.host.expect_use();
  }
  return status;
}

// Waits for the transfer of one page, if it has one in flight. A page that is leaving keeps its
// state; its copy is done. One that is checked stays. Errors: the driver's, and the transfer may go on; a failed read from the
// file. A failed write is no error here: the page has its bytes.
Status Residency::settle(PageRef page) {
  if (!is_moving(page->state)) return {};
  Status status = await_move(page);
  if (status.is_ok() || !is_moving(page->state)) forget(page);
  return status;
}

// As settle(), but the page stays listed as one that moves: with many of them each would be looked for among all.
Status Residency::await_move(PageRef page) {
  await_users(page);
  const StallWait waiting(stall_, cause_of(page->state));
  Result<bool> done = true;
  switch (page->state) {
    case PageState::kArriving: done = mover_.finish_arrival(page, true); break;
    case PageState::kLeaving: done = mover_.copied_out(page, true); break;
    case PageState::kChecking: done = mover_.finish_check(page, true); break;
    case PageState::kRemaking: done = mover_.finish_remake(page, true); break;
    case PageState::kSinking: done = finish_sink(page, true); break;
    case PageState::kRising: done = mover_.finish_rise(page, true); break;
    default: return {};
  }
  return done.status();
}

// The copies run in order on the inbound stream, so one event behind the newest stands for all; what is
// being remade has events of its own.
Status Residency::await_arrivals(std::span<Run* const> runs, StreamId stream) {
  std::vector<PageRef> arriving;
  bool copies = false;
  for (Run* run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const bool copied = run->pages[i].state == PageState::kArriving;
      if (copied || run->pages[i].state == PageState::kRemaking) arriving.push_back({run, i});
      copies |= copied;
    }
  }
  if (stream == kNoStream) return await_all(arriving);
  for (const PageRef& page : arriving) {
    if (page->state == PageState::kRemaking) TESSERA_TRY(driver_.wait_event(stream, page->event));
  }
  if (!copies) return {};
  TESSERA_TRY(driver_.record_event(mark_, inbound_));
  return driver_.wait_event(stream, mark_);
}

Status Residency::await_all(std::span<const PageRef> arriving) {
  Status status;
  for (auto page = arriving.begin(); page != arriving.end() && status.is_ok(); ++page) {
    status = await_move(*page);
  }
  std::erase_if(moving_, [](const PageRef& page) { return !is_moving(page->state); });
  in_flight_.store(static_cast<std::uint32_t>(moving_.size()));
  return status;
}

// ---- prefetch -----------------------------------------------------------------------------------

Status Residency::prefetch(std::span<Run* const> runs) {
  MutexLock lock(mutex_);
  TESSERA_TRY(finish_moves(Await::kNone));
  Bytes room = tiers_.device.usage().room();
  std::vector<PageRef> ready;
  for (Run* run : runs) {
    if (run->missing.load() == 0) continue;
    run->coming = true;
    run->called = run->last_work();
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      if (page->state != PageState::kCold) continue;
      if (!page->host) {
        start_rise(page);
      } else if (room >= page.bytes()) {
        ready.push_back(page);
        room -= page.bytes();
      }
    }
  }
  const Status mounted = mount_and_note(ready);
  if (!mounted.is_ok()) log_line(LogLevel::kDebug, "a prefetch was cut short: {}", mounted.to_string());
  return {};
}

// A hint that cannot be followed is no error: the page comes when it is used.
void Residency::start_rise(PageRef page) {
  spare_host_room(page.bytes());
  const Status status = mover_.rise(page);
  if (status.is_ok()) return started(page);
  log_line(LogLevel::kDebug, "a prefetch was given up: {}", status.to_string());
}

// The bytes of a prefetched page are in host memory: on to the device, if that needs nobody to leave.
void Residency::go_on(PageRef page) {
  if (!page->host || tiers_.device.usage().room() < page.bytes()) return;
  const Status mounted = mount_and_note({&page, 1});
  if (!mounted.is_ok()) log_line(LogLevel::kDebug, "a prefetch was given up: {}", mounted.to_string());
}

}  // namespace tessera
