#include "residency/pages/page_swaps.hpp"

#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

void say_unbacked(PageRef page, const Status& reason) {
  log_line(LogLevel::kError, "the page at {:#x} has no memory mapped at its address until it is used: {}",
           page.address().value(), reason.to_string());
}

}  // namespace

Result<Bytes> PageSwaps::out(std::span<const PageRef> pages) {
  std::size_t taken = 0;
  Status status;
  while (taken < pages.size() && (status = copies_.take_host(pages[taken])).is_ok()) ++taken;
  if (taken == 0) return status.is_ok() ? Result<Bytes>(Bytes()) : status;
  const auto ready = pages.first(taken);
  if (Status copied = copy_to_backing(ready); !copied.is_ok()) {
    for (const PageRef& page : ready) copies_.drop_host(page);
    return copied;
  }
  return unmap(ready);
}

Status PageSwaps::copy_to_backing(std::span<const PageRef> pages) {
  const StreamId outbound = machine_.lanes.outbound(kHostLane);
  Status status;
  for (const PageRef& page : pages) {
    page->transfer.started = machine_.log.begin_move(Link::kOut, page.address(), page.bytes());
    status = machine_.driver.copy(BackingTier::alias_of(*page->host), page.address(), page.bytes(), outbound);
    if (!status.is_ok()) break;
  }
  return await_copies(outbound, status);
}

// Waits for the copies that were queued, also if another could not be.
Status PageSwaps::await_copies(StreamId stream, Status queued) {
  Status waited = machine_.driver.synchronize(stream);
  if (!waited.is_ok()) waited = machine_.driver.synchronize(machine_.device);
  return queued.is_ok() ? waited : queued;
}

Result<Bytes> PageSwaps::unmap(std::span<const PageRef> pages) {
  Status status;
  Bytes bytes;
  std::vector<PageRef> gone;
  for (const PageRef& page : pages) {
    if (Status unmapped = machine_.driver.unmap(page.address(), page.bytes()); !unmapped.is_ok()) {
      copies_.drop_host(page);
      status = unmapped;
      continue;
    }
    machine_.tiers.device.give_back(*page->device);
    page->device.reset();
    TESSERA_TRY(finish_out(page));
    bytes += page.bytes();
    gone.push_back(page);
  }
  back(gone);
  if (gone.empty()) return status;
  return bytes;
}

Status PageSwaps::finish_out(PageRef page) {
  page.run->streams.store(0);  // the gate is closed, and all uses are over
  machine_.stats.evictions += 1;
  ledger_.note_move(page, EventKind::kEvict);
  TESSERA_TRY(ledger_.step(page, PageEvent::kCopyOut));
  return ledger_.step(page, PageEvent::kUnmap);
}

void PageSwaps::back(std::span<const PageRef> pages) {
  std::vector<PageRef> backed;
  for (const PageRef& page : pages) {
    const Status mapped = mappings_.map_other(page, machine_.tiers.backing->handle_of(*page->host));
    page->copy.backed = mapped.is_ok();
    if (mapped.is_ok()) {
      backed.push_back(page);
    } else {
      say_unbacked(page, mapped);
    }
  }
  const Status allowed = mappings_.grant_access(backed);
  if (allowed.is_ok()) return;
  for (const PageRef& page : backed) say_unbacked(page, allowed);
}

Status PageSwaps::in(std::span<const PageRef> pages) {
  std::size_t placed = 0;
  Status status;
  while (placed < pages.size() && (status = replace_frame(pages[placed])).is_ok()) ++placed;
  const auto ready = pages.first(placed);
  if (Status filled = fill(ready); !filled.is_ok()) {
    for (const PageRef& page : ready) mappings_.give_back(page);
    back(ready);
    return filled;
  }
  for (const PageRef& page : ready) TESSERA_TRY(finish_in(page));
  return status;
}

// Puts a device frame in the host frame's place, as yet without its bytes.
Status PageSwaps::replace_frame(PageRef page) {
  page->transfer.started = machine_.log.begin_move(Link::kIn, page.address(), page.bytes());
  TESSERA_TRY_ASSIGN(page->device, machine_.tiers.device.take(page.page_class()));
  if (page->copy.backed) {
    if (Status status = machine_.driver.unmap(page.address(), page.bytes()); !status.is_ok()) {
      machine_.tiers.device.give_back(*page->device);
      page->device.reset();
      return status;
    }
    page->copy.backed = false;
  }
  Status status = mappings_.map_or_give_back(page);
  if (!status.is_ok()) back({&page, 1});
  return status;
}

Status PageSwaps::fill(std::span<const PageRef> pages) {
  TESSERA_TRY(mappings_.grant_access(pages));
  const StreamId inbound = machine_.lanes.inbound(kHostLane);
  Status status;
  for (const PageRef& page : pages) {
    status = machine_.driver.copy(page.address(), BackingTier::alias_of(*page->host), page.bytes(), inbound);
    if (!status.is_ok()) break;
  }
  return await_copies(inbound, status);
}

Status PageSwaps::finish_in(PageRef page) {
  copies_.drop_host(page);  // nothing guarantees that it stays equal
  machine_.stats.fetches += 1;
  ledger_.note_move(page, EventKind::kFetch);
  TESSERA_TRY(ledger_.step(page, PageEvent::kCopyIn));
  return ledger_.step(page, PageEvent::kArrive);
}

}  // namespace tessera
