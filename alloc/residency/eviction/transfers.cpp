#include "residency/eviction/transfers.hpp"

#include <algorithm>
#include <array>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// With this much of a device in use, memory may soon be short.
constexpr std::uint32_t kCrowdedPercent = 75;
constexpr int kUnmapTries = 2;

}  // namespace

void Transfers::publish_count() { in_flight_.store(static_cast<std::uint32_t>(moving_.size() + parting_.size())); }

void Transfers::started(PageRef page) {
  moving_.push_back(page);
  publish_count();
}

// The page's transfer was finished by a call that waited for it.
void Transfers::forget(PageRef page) {
  const auto is_it = [&](const PageRef& other) { return other.run == page.run && other.page == page.page; };
  std::erase_if(moving_, is_it);
  std::erase_if(parting_, is_it);
  publish_count();
}

// ---- starting -----------------------------------------------------------------------------------

Status Transfers::mount(std::span<const PageRef> pages, Mapped mapped) {
  const auto swaps = [](const PageRef& page) { return page->state == PageState::kCold; };
  Status status;
  if (engine_.tiers.is_backed() && std::any_of(pages.begin(), pages.end(), swaps)) {
    const Gate::Closed closed(engine_.gate);
    TESSERA_TRY(closed.status());
    TESSERA_TRY(engine_.await_all_work());
    const StallWait waiting(engine_.stall, StallCause::kCopyIn);
    status = moves_.mover.mount(pages);
  } else if (mapped == Mapped::kOnArrival && engine_.unseen.load()) {
    status = mount_apart(pages);
  } else {
    status = moves_.mover.mount(pages);
  }
  for (const PageRef& page : pages) {
    if (is_arriving(page->state)) started(page);
  }
  // An eviction will be needed before long: host memory should be pinned by then.
  const TierUsage device = engine_.tiers.device.usage();
  if (!engine_.tiers.is_backed() && device.used >= device.capacity * kCrowdedPercent / 100) {
    engine_.tiers.host.expect_use();
  }
  return status;
}

// Only pages with bytes to copy.
Status Transfers::mount_apart(std::span<const PageRef> pages) {
  std::vector<PageRef> cold, others;
  for (const PageRef& page : pages) (page->state == PageState::kCold ? cold : others).push_back(page);
  TESSERA_TRY(moves_.mover.mount(others));
  return moves_.arrivals.begin(cold);
}

Result<std::size_t> Transfers::copy_out(std::span<const PageRef> batch, Location to) {
  if (batch.front()->eviction.parts) return part(batch, to);
  Result<std::size_t> begun = moves_.mover.copy_out(batch, to);
  if (!begun.is_ok()) return begun;
  for (const PageRef& page : batch.first(begun.value())) started(page);
  return begun;
}

Status Transfers::load(PageRef page) {
  spare_host_room(page.bytes());
  Status status = moves_.files.load(page);
  if (status.is_ok()) started(page);
  return status;
}

void Transfers::try_rise(PageRef page) {
  const Status status = load(page);
  if (!status.is_ok()) log_line(LogLevel::kDebug, "a prefetch was abandoned: {}", status.to_string());
}

Status Transfers::spill(PageRef page) {
  if (engine_.tiers.is_backed()) return Status(Code::kOutOfMemory, "host-backed pages cannot be spilled");
  if (!engine_.tiers.file.takes_writes()) {
    return Status(Code::kOutOfMemory, "the spill files are no longer written");
  }
  Status status = moves_.files.spill(page);
  while (status.code() == Code::kOutOfMemory && drop_file_copies(page.bytes())) {
    status = moves_.files.spill(page);
  }
  if (status.is_ok()) started(page);
  return status;
}

// Copies of pages that are on the device too: they cost more now than they may save.
Bytes Transfers::drop_file_copies(Bytes bytes) {
  Bytes dropped;
  for (Run& run : engine_.with(PageTrait::kCopyInFile)) {
    if (dropped >= bytes) break;
    for (std::uint32_t i = 0; i < run.shape.pages() && dropped < bytes; ++i) {
      const PageRef page{&run, i};
      if (page->state != PageState::kResident || !page->file) continue;
      moves_.copies.drop_file(page);
      dropped += page.bytes();
    }
  }
  return dropped;
}

void Transfers::go_onward(std::span<const PageRef> left) {
  for (const PageRef& page : left) {
    if (page->eviction.onward) move_on(page);
  }
  clear_stranded();
}

Status Transfers::await_recompute(PageRef page, StreamId stream) {
  TESSERA_TRY(moves_.recomputes.await(page, stream));
  started(page);
  return {};
}

void Transfers::spare_host_room(Bytes bytes) {
  if (!moves_.copies.candidate_bytes()) return;
  const TierUsage host = engine_.tiers.host.usage();
  const Bytes room = host.capacity - host.used;
  if (room < bytes) moves_.copies.drop_candidates(bytes - room);
}

// ---- runs ---------------------------------------------------------------------------------------

Status Transfers::discard(Run& run) {
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    // Pages that are apart are mapped again, and work on the run's last block may not be over.
    if (page->device || page->state == PageState::kEmpty || page->state == PageState::kZeroCopy) continue;
    // The outcome of the transfer does not matter.
    if (Status status = settle(page); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a transfer of discarded bytes failed: {}", status.to_string());
    }
    TESSERA_TRY(moves_.releases.discard(page));
  }
  std::erase_if(stranded_, [&run](const PageRef& page) { return page.run == &run; });
  return {};
}

// If its copies cannot be waited for, the device is lost and they are over.
Status Transfers::take_back(Run& run) {
  Status result;
  for (int tries = 0; tries < kUnmapTries; ++tries) {
    result = {};
    std::vector<PageRef> mapped;
    for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
      const PageRef page{&run, i};
      Status settled = settle(page);
      if (is_apart(page->state)) settled = moves_.partings.give_up(page);
      if (!is_mapped(page->state)) continue;
      mapped.push_back(page);
      if (!settled.is_ok()) result = settled;
    }
    const Status vacated = moves_.mover.vacate(mapped);
    if (vacated.is_ok()) break;
    result = vacated;
  }
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) moves_.copies.drop_all({&run, i});
  return result;
}

void Transfers::forget(const Run& run) {
  const auto of_run = [&run](const PageRef& page) { return page.run == &run; };
  std::erase_if(moving_, of_run);
  std::erase_if(parting_, of_run);
  std::erase_if(stranded_, of_run);
  publish_count();
}

void Transfers::follow_row(const Run& row) {
  for (auto* list : {&moving_, &parting_, &stranded_}) move_to_row(row, *list);
  moves_.copies.follow_row(row);
}

// ---- inspection ---------------------------------------------------------------------------------

Bytes Transfers::yielding() const {
  Bytes bytes;
  for (const PageRef& page : moving_) {
    if (page->state == PageState::kSpilling && !page->copy.staging) bytes += page.bytes();
  }
  return bytes;
}

Status Transfers::validate() const {
  Bytes moving_bytes, listed_bytes, idle_with_peer;
  std::array<Bytes, kPageStates> listed{};
  for (const auto& run : engine_.runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const Page& page = run->pages[i];
      if (is_moving(page.state)) moving_bytes += page_bytes(run->shape.page_class(i));
      if (page.peer && page.state == PageState::kResident) idle_with_peer += page_bytes(run->shape.page_class(i));
    }
  }
  if (idle_with_peer != moves_.ledger.idle_peer_bytes()) {
    return Status(Code::kInternal, "the idle copies on a peer do not add up");
  }
  for (const auto* list : {&moving_, &parting_}) {
    for (const PageRef& page : *list) {
      const bool parts = page->state == PageState::kParting;
      if (!is_moving(page->state) || parts != (list == &parting_)) {
        return Status(Code::kInternal, "a listed page is not moving, or not parting");
      }
      listed_bytes += page.bytes();
      listed[static_cast<std::size_t>(page->state)] += page.bytes();
    }
  }
  if (moving_bytes != listed_bytes) {
    return Status(Code::kInternal, "a moving page is not listed, or listed twice");
  }
  for (std::size_t i = 0; i < kPageStates; ++i) {
    if (listed[i] == moves_.ledger.moving(static_cast<PageState>(i))) continue;
    return Status(Code::kInternal, "the moving bytes do not add up");
  }
  return {};
}

}  // namespace tessera
