#include "residency/eviction/fetcher.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// By run address, so that the order does not depend on where the records were allocated.
bool is_before(const Run* a, const Run* b) { return a->address < b->address; }

// The parts of a row instead of the row.
std::vector<Run*> distinct(std::span<Run* const> runs) {
  std::vector<Run*> result = with_parts(runs);
  std::sort(result.begin(), result.end(), is_before);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// Room is taken in parts of this size: few calls, but an early first one.
constexpr Bytes kPart = 64_MiB;
// The driver may be out of memory although the budget is not; this many times more is evicted to help it.
constexpr int kMountRounds = 16;

bool has_frame(const PageRef& page) { return page->device || page->state == PageState::kZeroCopy; }

Status data_loss(PageRef page) {
  return Status(
      Code::kDataLoss,
      fmt::format("the page at {:#x} is lost: it was read back corrupt from the spill file, or its host memory "
                  "could not be mapped again",
                  page.address().value()));
}

}  // namespace

Status Fetcher::fetch(Runs runs, StreamId stream, Oversized oversized) {
  if (stream != kNoStream) {  // a fence per miss, so that the stream's progress is known at that granularity
    TESSERA_TRY(engine_.fence(std::uint64_t{1} << engine_.streams.slot_of(stream)));
  }
  const std::vector<Run*> wanted = distinct(runs);
  if (oversized == Oversized::kUsedInHost) TESSERA_TRY(make_fit(wanted));
  // A launch is queued before the bytes are there, and its stream waits for them.
  TESSERA_TRY(bring_in(wanted, stream == kNoStream ? Transfers::Mapped::kOnArrival : Transfers::Mapped::kAtOnce));
  TESSERA_TRY(transfers_.parted.go_apart());
  return transfers_.ends.await_arrivals(wanted, stream);
}

Bytes Fetcher::excess_of(Runs runs) const { return need_of(distinct(runs)).excess(); }

// What is used in host memory needs no room on the device.
Fetcher::Need Fetcher::need_of(Runs runs) const {
  Need need{.wanted = {}, .pinned = engine_.pinned_bytes, .capacity = engine_.tiers.device.usage().capacity};
  for (const Run* run : runs) {
    need.wanted += run->shape.bytes() - run->bytes_in(PageState::kZeroCopy);
    if (run->is_pinned()) need.pinned -= run->shape.bytes();
  }
  if (!need.excess()) return need;
  engine_.tiers.device.regain(DeviceTier::Ask::kNow);
  need.capacity = engine_.tiers.device.usage().capacity;
  return need;
}

Status Fetcher::check_fits(Runs runs) const {
  const Need need = need_of(runs);
  if (!need.excess()) return {};
  return Status(Code::kOutOfMemory,
                fmt::format("one step of work uses {} MiB at once, but device memory has {} MiB, of "
                            "which {} MiB are pinned: raise device-memory or make the step smaller",
                            need.wanted / 1_MiB, need.capacity / 1_MiB, need.pinned / 1_MiB));
}

Status Fetcher::make_fit(Runs runs) {
  if (!partial_.are_possible()) return {};
  const Bytes excess = need_of(runs).excess();
  if (!excess) return partial_.keep_more(runs);
  TESSERA_TRY(partial_.make_fit(runs, excess));
  review_.watch();
  return {};
}

Status Fetcher::bring_in(Runs runs, Transfers::Mapped mapped) {
  TESSERA_TRY(check_fits(runs));
  const PartedEvictions::Held held(transfers_.parted);
  std::vector<PageRef> pages;
  TESSERA_TRY_ASSIGN(pages, absent_pages(runs, mapped));
  if (pages.empty()) return {};
  TESSERA_TRY(check_backing(pages));
  Status room = bring_by_parts(pages, mapped);
  if (room.is_ok()) return room;
  if (room.code() != Code::kOutOfMemory || pages.size() == 1) return room;
  std::erase_if(pages, has_frame);
  return bring_one_by_one(pages, mapped);  // the tiers below are too full to swap everything at once
}

// Starts all evictions that are needed; fetches take room as it becomes free, so that both directions of the link are
// busy.
Status Fetcher::bring_by_parts(std::span<const PageRef> pages, Transfers::Mapped mapped) {
  TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kNone));
  const Bytes wanted = total_bytes(pages);
  Bytes leaving;
  TESSERA_TRY_ASSIGN(leaving, device_evictor_.evicting_for(wanted));
  if (const Bytes room = engine_.tiers.device.room() + leaving; room < wanted) {
    TESSERA_TRY(device_evictor_.page_out(wanted - room, DeviceEvictor::Patience::kDemand).status());
  }
  for (std::size_t first = 0; first < pages.size();) {
    std::size_t end = first;
    for (Bytes part; end < pages.size() && part < kPart; ++end) part += pages[end].bytes();
    const auto part = pages.subspan(first, end - first);
    TESSERA_TRY(device_evictor_.make_room(total_bytes(part)));
    TESSERA_TRY(bring({part.begin(), part.end()}, mapped));
    first = end;
  }
  return {};
}

Result<std::vector<PageRef>> Fetcher::absent_pages(Runs runs, Transfers::Mapped mapped) {
  std::vector<PageRef> pages, apart;
  std::size_t most = 0;
  for (const Run* run : runs) most += run->missing.load();
  pages.reserve(most);
  for (Run* run : runs) {
    run->prefetch.requested = false;
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      if (page->state == PageState::kSpilling || page->state == PageState::kLoading) {
        TESSERA_TRY(transfers_.ends.settle(page));
      }
      if (page->state == PageState::kLost) return data_loss(page);
      if (is_mapped(page->state) || page->state == PageState::kZeroCopy) continue;
      if (page->state == PageState::kApartFetching && mapped == Transfers::Mapped::kOnArrival) continue;
      if (is_apart(page->state)) {  // it has its frame already
        apart.push_back(page);
        continue;
      }
      const bool has_bytes = page->state == PageState::kCold || page->state == PageState::kReachable;
      if (has_bytes) engine_.stats.late_fetches += 1;
      pages.push_back(page);
    }
  }
  TESSERA_TRY(transfers_.parted.recall(apart));
  return pages;
}

// When the spill file takes no more, new pages must not use the staging reserve: pages that cannot be moved elsewhere
// would fill it, and then nothing could be fetched.
Status Fetcher::check_backing(std::span<const PageRef> pages) const {
  Bytes wanted, backed;
  for (const PageRef& page : pages) {
    if (page->state == PageState::kEmpty) wanted += page.bytes();
  }
  if (!wanted) return {};
  const Bytes file = engine_.tiers.file.reach();
  if (file == engine_.tiers.file.usage().capacity) return {};
  for (const auto& run : engine_.runs) {
    if (!run->is_dead()) backed += run->shape.bytes() - run->bytes_in(PageState::kEmpty);
  }
  const Bytes lent = engine_.tiers.peer == nullptr ? Bytes() : engine_.tiers.peer->reach();
  const Bytes room = engine_.tiers.device.usage().capacity + lent + engine_.tiers.host.usage().capacity + file;
  if (backed + wanted <= room) return {};
  return Status(Code::kOutOfMemory,
                fmt::format("the spill file accepts no more writes: {} MiB are needed, {} of {} MiB are in use",
                            wanted / 1_MiB, backed / 1_MiB, room / 1_MiB));
}

// REQUIRES: room for all of them. Starts reads from the file as far as there are host frames, and mounts each page as
// soon as its bytes are in host memory.
Status Fetcher::bring(std::vector<PageRef> pages, Transfers::Mapped mapped) {
  for (int rounds = 0; !pages.empty();) {
    std::vector<PageRef> ready, waiting;
    ready.reserve(pages.size());
    for (const PageRef& page : pages) {
      bool there = false;
      TESSERA_TRY_ASSIGN(there, on_host(page));
      (there ? ready : waiting).push_back(page);
    }
    const Status mounted = transfers_.starts.mount(ready, mapped);
    if (mounted.code() == Code::kOutOfMemory && rounds++ < kMountRounds) {
      // Making room may spill these pages, so they are looked at again.
      std::erase_if(pages, has_frame);
      TESSERA_TRY(help_driver(total_bytes(pages), mounted));
      continue;
    }
    TESSERA_TRY(mounted);
    pages = std::move(waiting);
    if (!ready.empty() || pages.empty()) continue;
    const auto rising = std::find_if(pages.begin(), pages.end(),
                                     [](const PageRef& page) { return page->state == PageState::kLoading; });
    if (rising != pages.end()) {
      TESSERA_TRY(transfers_.ends.settle(*rising));
    } else if (transfers_.any()) {
      TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kOldest));
    } else {
      TESSERA_TRY(host_evictor_.make_room(pages.front().bytes()));
    }
  }
  return {};
}

Status Fetcher::bring_one_by_one(std::span<const PageRef> pages, Transfers::Mapped mapped) {
  for (const PageRef& page : pages) {
    TESSERA_TRY(device_evictor_.make_room(page.bytes()));
    TESSERA_TRY(bring({page}, mapped));
    TESSERA_TRY(transfers_.ends.settle(page));  // its host frame is free for the next eviction
  }
  return {};
}

// Whether the page can be mounted now; if not, its read from the file has been started.
Result<bool> Fetcher::on_host(PageRef page) {
  if (page->state == PageState::kSpilling) TESSERA_TRY(transfers_.ends.settle(page));
  if (page->state == PageState::kLoading) return transfers_.ends.has_risen(page);
  if (page->state == PageState::kLost) return data_loss(page);
  const bool comes_by_copy = page->state == PageState::kCold;
  if (!comes_by_copy || page->is_near()) return true;
  const Status status = transfers_.starts.load(page);
  if (!status.is_ok() && status.code() != Code::kBusy) return status;
  return false;
}

// The driver has no memory left although the budget has: evicts as many bytes, and trims spare frames. Errors:
// `refusal` when nothing can be evicted.
Status Fetcher::help_driver(Bytes bytes, const Status& refusal) {
  Bytes leaving;
  TESSERA_TRY_ASSIGN(leaving, device_evictor_.page_out(bytes, DeviceEvictor::Patience::kDemand));
  if (!leaving && !transfers_.any()) return refusal;
  TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kOldest));
  engine_.tiers.device.trim();
  return {};
}

Status Fetcher::prefetch(Runs runs) {
  TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kNone));
  Bytes room = engine_.tiers.device.room();
  std::vector<PageRef> ready;
  for (Run* run : with_parts(runs)) {
    if (run->missing.load() == 0) continue;
    run->prefetch.requested = true;
    run->prefetch.as_of = run->last_work();
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      if (page->state != PageState::kCold) continue;
      if (!page->is_near()) {
        transfers_.starts.try_rise(page);
      } else if (room >= page.bytes()) {
        ready.push_back(page);
        room -= page.bytes();
      }
    }
  }
  const Status mounted = transfers_.starts.mount(ready, Transfers::Mapped::kOnArrival);
  if (!mounted.is_ok()) log_line(LogLevel::kDebug, "a prefetch was incomplete: {}", mounted.to_string());
  return {};
}

}  // namespace tessera
