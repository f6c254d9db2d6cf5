// Moves while no access is possible, for programs that may touch pages unannounced.
//
// Behind the closed gate no launch starts, and after a wait for all streams nothing runs. Then a copy and a change of
// mappings are atomic to the program: no write falls between them, no access finds the page unmapped. For the same
// reason these moves do not overlap with the program's work, as all others do
// (docs/decisions/0010-host-backed-pages.md).
#include "base/log.hpp"
#include "residency/pages/page_mover.hpp"

namespace tessera {
namespace {

void say_unbacked(PageRef page, const Status& reason) {
  log_line(LogLevel::kError, "the page at {:#x} has no memory mapped at its address until it is used: {}",
           page.address().value(), reason.to_string());
}

}  // namespace

// Returns the first of several errors; pages already done stay done.
Result<Bytes> PageMover::swap_out(std::span<const PageRef> pages) {
  std::size_t taken = 0;
  Status status;
  while (taken < pages.size() && (status = take_host_frame(pages[taken])).is_ok()) ++taken;
  if (taken == 0) return status.is_ok() ? Result<Bytes>(Bytes()) : status;
  const auto ready = pages.first(taken);
  if (Status copied = copy_to_backing(ready); !copied.is_ok()) {
    for (const PageRef& page : ready) return_host_frame(page);
    return copied;
  }
  return leave_place(ready);
}

Status PageMover::copy_to_backing(std::span<const PageRef> pages) {
  const StreamId outbound = lanes_.outbound(CopyLocation::kHost);
  Status status;
  for (const PageRef& page : pages) {
    page->started = log_.begin_move(Link::kOut, page.address(), page.bytes());
    status = driver_.copy(BackingTier::alias_of(*page->host), page.address(), page.bytes(), outbound);
    if (!status.is_ok()) break;
  }
  return over(outbound, status);
}

// Waits for the copies that were queued, also if another could not be.
Status PageMover::over(StreamId stream, Status queued) {
  Status waited = driver_.synchronize(stream);
  if (!waited.is_ok()) waited = driver_.synchronize(device_);
  return queued.is_ok() ? waited : queued;
}

Result<Bytes> PageMover::leave_place(std::span<const PageRef> pages) {
  Status status;
  Bytes bytes;
  std::vector<PageRef> gone;
  for (const PageRef& page : pages) {
    if (Status unmapped = driver_.unmap(page.address(), page.bytes()); !unmapped.is_ok()) {
      return_host_frame(page);
      status = unmapped;
      continue;
    }
    tiers_.device.give_back(*page->device);
    page->device.reset();
    TESSERA_TRY(left(page));
    bytes += page.bytes();
    gone.push_back(page);
  }
  back(gone);
  if (gone.empty()) return status;
  return bytes;
}

Status PageMover::left(PageRef page) {
  page.run->streams.store(0);  // the gate is closed, and all uses are over
  stats_.evictions += 1;
  note_move(page, EventKind::kEvict);
  TESSERA_TRY(step(page, PageEvent::kCopyOut));
  return step(page, PageEvent::kUnmap);
}

// Maps the host frames at the pages' own addresses. Without that no byte is lost, but an unannounced access would
// fault.
void PageMover::back(std::span<const PageRef> pages) {
  std::vector<PageRef> backed;
  for (const PageRef& page : pages) {
    const Status mapped = driver_.map(page.address(), page.bytes(), tiers_.backing->handle_of(*page->host));
    page->backed = mapped.is_ok();
    if (mapped.is_ok()) {
      backed.push_back(page);
    } else {
      say_unbacked(page, mapped);
    }
  }
  const Status allowed = grant_access(backed);
  if (allowed.is_ok()) return;
  for (const PageRef& page : backed) say_unbacked(page, allowed);
}

Status PageMover::swap_in(std::span<const PageRef> pages) {
  std::size_t placed = 0;
  Status status;
  while (placed < pages.size() && (status = take_place(pages[placed])).is_ok()) ++placed;
  const auto ready = pages.first(placed);
  if (Status filled = fill_in_place(ready); !filled.is_ok()) {
    for (const PageRef& page : ready) unmap_handles(page, page.bytes());
    back(ready);
    return filled;
  }
  for (const PageRef& page : ready) TESSERA_TRY(arrived(page));
  return status;
}

// Puts a device frame in the host frame's place, as yet without its bytes.
Status PageMover::take_place(PageRef page) {
  page->started = log_.begin_move(Link::kIn, page.address(), page.bytes());
  TESSERA_TRY_ASSIGN(page->device, tiers_.device.take(page.page_class()));
  if (page->backed) {
    if (Status status = driver_.unmap(page.address(), page.bytes()); !status.is_ok()) {
      tiers_.device.give_back(*page->device);
      page->device.reset();
      return status;
    }
    page->backed = false;
  }
  Status status = map_handles(page);
  if (!status.is_ok()) back({&page, 1});
  return status;
}

Status PageMover::fill_in_place(std::span<const PageRef> pages) {
  TESSERA_TRY(grant_access(pages));
  const StreamId inbound = lanes_.inbound(CopyLocation::kHost);
  Status status;
  for (const PageRef& page : pages) {
    status = driver_.copy(page.address(), BackingTier::alias_of(*page->host), page.bytes(), inbound);
    if (!status.is_ok()) break;
  }
  return over(inbound, status);
}

Status PageMover::arrived(PageRef page) {
  return_host_frame(page);  // nothing guarantees that it stays equal
  stats_.fetches += 1;
  note_move(page, EventKind::kFetch);
  TESSERA_TRY(step(page, PageEvent::kCopyIn));
  return step(page, PageEvent::kArrive);
}

// A frame that cannot be unmapped from the page's address is leaked, which is logged.
void PageMover::return_backing_frame(PageRef page) {
  Status status;
  if (page->backed) status = driver_.unmap(page.address(), page.bytes());
  if (!status.is_ok()) status = driver_.unmap(page.address(), page.bytes());
  if (status.is_ok()) {
    tiers_.backing->give_back(*page->host);
  } else {
    log_line(LogLevel::kError, "a host frame could not be unmapped: {}", status.to_string());
    tiers_.backing->write_off(*page->host);
  }
  page->backed = false;
  page->host.reset();
  note_page(page);
}

}  // namespace tessera
