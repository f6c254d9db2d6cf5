// Who comes: bringing runs into device memory for a use.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

std::vector<Run*> distinct(std::span<Run* const> runs) {
  std::vector<Run*> result(runs.begin(), runs.end());
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Bytes total_bytes(std::span<const PageRef> pages) {
  Bytes bytes;
  for (const PageRef& page : pages) bytes += page.bytes();
  return bytes;
}

}  // namespace

// Success leaves the runs held. While only calls under way on other threads are in the way, waits
// until one of them lets go: they return by themselves.
Status Residency::fetch_and_hold(std::span<Run* const> runs, StreamId stream) {
  for (;;) {
    const std::uint32_t seen = let_go_.load();
    {
      MutexLock lock(mutex_);
      for (Run* run : runs) run->holds.fetch_add(1);
      const Nanoseconds begin = log_.now();
      waited_ = false;
      Status status = fetch(runs, stream);
      if (waited_) note_stall(*runs.front(), begin);
      work_ahead();
      if (status.is_ok()) {
        held_uses_.fetch_add(1);
        return status;
      }
      for (Run* run : runs) run->holds.fetch_sub(1);
      if (status.code() != Code::kBusy) return status;
    }
    let_go_.wait(seen);
  }
}

void Residency::note_stall(const Run& run, Nanoseconds begin) {
  const Nanoseconds end = log_.now();
  stats_.stalls += 1;
  stats_.stall_time += end - begin;
  log_.record({EventKind::kStall, static_cast<std::uint16_t>(device_.value()), begin, end,
               run.address, run.shape.bytes()});
}

Status Residency::check_fits(std::span<Run* const> runs) const {
  Bytes wanted, pinned;
  for (const Run* run : runs) wanted += run->shape.bytes();
  for (const auto& run : runs_) {
    if (run->pins.load() != 0 && !std::binary_search(runs.begin(), runs.end(), run.get())) {
      pinned += run->shape.bytes();
    }
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
    TESSERA_TRY(streams_.fence(std::uint64_t{1} << streams_.slot_of(stream), epoch_.load()));
  }
  const std::vector<Run*> wanted = distinct(runs);
  TESSERA_TRY(check_fits(wanted));
  std::vector<PageRef> pages;
  TESSERA_TRY_ASSIGN(pages, absent_pages(wanted));
  if (!pages.empty()) {
    Status room = make_room(total_bytes(pages));
    if (room.is_ok()) {
      TESSERA_TRY(bring(std::move(pages)));
    } else if (room.code() == Code::kOutOfMemory && pages.size() > 1) {
      TESSERA_TRY(bring_one_by_one(pages));  // the tiers below are too full to swap all at once
    } else {
      return room;
    }
  }
  return await_arrivals(wanted, stream);
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
      if (page->state == PageState::kLost) {
        return Status(Code::kDataLoss, fmt::format("the page at {:#x} came back corrupt from the "
                                                   "spill file", page.address().value()));
      }
      if (is_mapped(page->state)) continue;
      if (page->state == PageState::kCold) stats_.late_fetches += 1;
      pages.push_back(page);
    }
  }
  return pages;
}

// REQUIRES: room for all of them. Reads from the file are started as far as host frames go, and
// each page is mounted as soon as its bytes are in host memory.
Status Residency::bring(std::vector<PageRef> pages) {
  while (!pages.empty()) {
    std::vector<PageRef> ready, waiting;
    for (const PageRef& page : pages) {
      bool there = false;
      TESSERA_TRY_ASSIGN(there, on_host(page));
      (there ? ready : waiting).push_back(page);
    }
    TESSERA_TRY(mount(ready));
    pages = std::move(waiting);
    if (!ready.empty() || pages.empty()) continue;
    const auto rising = std::find_if(pages.begin(), pages.end(), [](const PageRef& page) {
      return page->state == PageState::kRising;
    });
    if (rising != pages.end()) {
      TESSERA_TRY(settle(*rising));
    } else if (!moving_.empty()) {
      TESSERA_TRY(finish_moves(true));
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
  if (page->state == PageState::kRising) {
    bool done = false;
    TESSERA_TRY_ASSIGN(done, mover_.finish_rise(page, false));
    if (done) forget(page);
    return done;
  }
  if (page->state == PageState::kEmpty || page->host) return true;
  const Status status = mover_.rise(page);
  if (status.is_ok()) started(page);
  if (!status.is_ok() && status.code() != Code::kBusy) return status;
  return false;
}

// The budget has room, yet the driver may be out of memory (another program's, say): then more
// must leave.
Status Residency::mount(std::span<const PageRef> pages) {
  Status status = mover_.mount(pages);
  for (const PageRef& page : pages) {
    if (page->state == PageState::kArriving) started(page);
  }
  while (status.code() == Code::kOutOfMemory) {
    std::vector<PageRef> rest;
    for (const PageRef& page : pages) {
      if (!is_mapped(page->state)) rest.push_back(page);
    }
    Bytes leaving;
    TESSERA_TRY_ASSIGN(leaving, page_out(total_bytes(rest), Patience::kDemand));
    if (!leaving && leaving_bytes() == Bytes(0)) return status;
    TESSERA_TRY(finish_moves(true));
    tiers_.device.trim();
    status = mover_.mount(rest);
    for (const PageRef& page : rest) {
      if (page->state == PageState::kArriving) started(page);
    }
  }
  return status;
}

// Waits for the transfer of one page, if it has one in flight. A page that is leaving keeps its
// state; its copy is done.
Status Residency::settle(PageRef page) {
  forget(page);
  waited_ = true;
  Result<bool> done = true;
  switch (page->state) {
    case PageState::kArriving: done = mover_.finish_arrival(page, true); break;
    case PageState::kSinking: done = mover_.finish_sink(page, true); break;
    case PageState::kRising: done = mover_.finish_rise(page, true); break;
    case PageState::kLeaving: done = mover_.copied_out(page, true); break;
    default: break;
  }
  return done.status();
}

// The copies run in order on the inbound stream, so one event behind the newest stands for all.
Status Residency::await_arrivals(std::span<Run* const> runs, StreamId stream) {
  std::vector<PageRef> arriving;
  for (Run* run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      if (run->pages[i].state == PageState::kArriving) arriving.push_back({run, i});
    }
  }
  if (arriving.empty()) return {};
  if (stream == kNoStream) {
    for (const PageRef& page : arriving) TESSERA_TRY(settle(page));
    return {};
  }
  TESSERA_TRY(driver_.record_event(mark_, inbound_));
  return driver_.wait_event(stream, mark_);
}

// ---- prefetch -----------------------------------------------------------------------------------

Status Residency::prefetch(std::span<Run* const> runs) {
  MutexLock lock(mutex_);
  TESSERA_TRY(finish_moves(false));
  for (Run* run : runs) {
    run->coming = true;
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) prefetch_page({run, i});
  }
  return {};
}

// One step of the way, as far as there is room; a hint that cannot be followed is no error.
void Residency::prefetch_page(PageRef page) {
  if (page->state != PageState::kCold) return;
  if (!page->host) {
    if (mover_.rise(page).is_ok()) started(page);
  } else if (device_room() >= page.bytes()) {
    if (Status status = mount({&page, 1}); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a prefetch was given up: {}", status.to_string());
    }
  }
}

}  // namespace tessera
