#include "residency/eviction/transfer_starts.hpp"

#include <algorithm>
#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

// With this much of a device in use, memory may soon be short.
constexpr std::uint32_t kCrowdedPercent = 75;

}  // namespace

// Pages that are reachable come last: the others have no frames yet if they fail.
Status TransferStarts::mount(std::span<const PageRef> pages, Mapped mapped) {
  const auto is_reachable = [](const PageRef& page) { return page->state == PageState::kReachable; };
  if (std::ranges::none_of(pages, is_reachable)) return mount_others(pages, mapped);
  std::vector<PageRef> reachable, others;
  for (const PageRef& page : pages) (is_reachable(page) ? reachable : others).push_back(page);
  TESSERA_TRY(mount_others(others, mapped));
  return fetch_reachable(reachable);
}

// Kernels may use them unannounced at any moment, so all work is waited for. Where it does not end, they are used where
// they are.
Status TransferStarts::fetch_reachable(std::span<const PageRef> pages) {
  const Gate::Closed closed(engine_.gate);
  const Status over = closed.is_closed() ? engine_.await_all_work() : closed.status();
  if (over.code() == Code::kNotReady) return moves_.zero_copy.begin(pages).status();
  TESSERA_TRY(over);
  const StallWait waiting(engine_.stall, StallCause::kCopyIn);
  return moves_.zero_copy.end(pages);
}

Status TransferStarts::mount_others(std::span<const PageRef> pages, Mapped mapped) {
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
    if (is_arriving(page->state)) in_flight_.add(page);
  }
  // An eviction will be needed before long: host memory should be pinned by then.
  const TierUsage device = engine_.tiers.device.usage();
  if (!engine_.tiers.is_backed() && device.used >= device.capacity * kCrowdedPercent / 100) {
    engine_.tiers.host.expect_use();
  }
  return status;
}

// Only pages with bytes to copy.
Status TransferStarts::mount_apart(std::span<const PageRef> pages) {
  std::vector<PageRef> cold, others;
  for (const PageRef& page : pages) (page->state == PageState::kCold ? cold : others).push_back(page);
  TESSERA_TRY(moves_.mover.mount(others));
  return moves_.arrivals.begin(cold);
}

Result<std::size_t> TransferStarts::copy_out(std::span<const PageRef> batch, Location to) {
  Result<std::size_t> begun = moves_.mover.copy_out(batch, to);
  if (!begun.is_ok()) return begun;
  for (const PageRef& page : batch.first(begun.value())) in_flight_.add(page);
  return begun;
}

Status TransferStarts::load(PageRef page) {
  spare_host_room(page.bytes());
  Status status = moves_.files.load(page);
  if (status.is_ok()) in_flight_.add(page);
  return status;
}

void TransferStarts::try_rise(PageRef page) {
  const Status status = load(page);
  if (!status.is_ok()) log_line(LogLevel::kDebug, "a prefetch was abandoned: {}", status.to_string());
}

Status TransferStarts::spill(PageRef page) {
  if (engine_.tiers.is_backed()) return Status(Code::kOutOfMemory, "host-backed pages cannot be spilled");
  if (!engine_.tiers.file.takes_writes()) {
    return Status(Code::kOutOfMemory, "the spill files are no longer written");
  }
  Status status = moves_.files.spill(page);
  while (status.code() == Code::kOutOfMemory && drop_file_copies(page.bytes())) {
    status = moves_.files.spill(page);
  }
  if (status.is_ok()) in_flight_.add(page);
  return status;
}

// Copies of pages that are on the device too: they cost more now than they may save.
Bytes TransferStarts::drop_file_copies(Bytes bytes) {
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

Status TransferStarts::await_recompute(PageRef page, StreamId stream) {
  TESSERA_TRY(moves_.recomputes.await(page, stream));
  in_flight_.add(page);
  return {};
}

void TransferStarts::spare_host_room(Bytes bytes) {
  if (!moves_.copies.candidate_bytes()) return;
  const TierUsage host = engine_.tiers.host.usage();
  const Bytes room = host.capacity - host.used;
  if (room < bytes) moves_.copies.drop_candidates(bytes - room);
}

}  // namespace tessera
