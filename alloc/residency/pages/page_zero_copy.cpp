#include "residency/pages/page_zero_copy.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/log.hpp"

namespace tessera {

// Of a page that is kReachable already only the state changes.
Result<Bytes> PageZeroCopy::begin(std::span<const PageRef> pages) {
  Bytes there;
  std::vector<PageRef> others;
  for (const PageRef& page : pages) {
    if (page->state == PageState::kReachable) {
      TESSERA_TRY(ledger_.step(page, PageEvent::kMapHost));
      there += page.bytes();
    } else {
      others.push_back(page);
    }
  }
  const Result<Bytes> more = begin(others, PageEvent::kMapHost);
  if (!more.is_ok() && there) return there;
  if (!more.is_ok()) return more;
  return there + more.value();
}

Result<Bytes> PageZeroCopy::keep_reachable(std::span<const PageRef> pages) {
  return begin(pages, PageEvent::kKeepMapped);
}

// The bytes are complete in the host frames before any page is mapped there.
Result<Bytes> PageZeroCopy::begin(std::span<const PageRef> pages, PageEvent event) {
  ZeroCopyTier& tier = *machine_.tiers.zero_copy;
  std::vector<Frame> frames;
  Status status;
  while (frames.size() < pages.size()) {
    const Result<Frame> frame = tier.take(pages[frames.size()].page_class());
    status = frame.status();
    if (!status.is_ok()) break;
    frames.push_back(frame.value());
  }
  std::size_t done = 0;
  Bytes bytes;
  if (const Status copied = copy(pages.first(frames.size()), frames); copied.is_ok()) {
    for (; done < frames.size(); ++done) {
      if (status = begin(pages[done], frames[done], event); !status.is_ok()) break;
      bytes += pages[done].bytes();
    }
  } else {
    status = copied;
  }
  for (std::size_t i = done; i < frames.size(); ++i) tier.give_back(frames[i]);
  if (!bytes && !status.is_ok()) return status;
  return bytes;
}

Status PageZeroCopy::copy(std::span<const PageRef> pages, std::span<const Frame> frames) {
  const StreamId outbound = machine_.lanes.outbound(kHostLane);
  Status status;
  for (std::size_t i = 0; i < pages.size() && status.is_ok(); ++i) {
    pages[i]->transfer.started = machine_.log.begin_move(Link::kOut, pages[i].address(), pages[i].bytes());
    status = queue(pages[i], BackingTier::alias_of(frames[i]), outbound);
  }
  Status waited = machine_.driver.synchronize(outbound);
  if (!waited.is_ok()) waited = machine_.driver.synchronize(machine_.device);
  return status.is_ok() ? waited : status;
}

Status PageZeroCopy::queue(PageRef page, Address to, StreamId stream) {
  if (page->device) return machine_.driver.copy(to, page.address(), page.bytes(), stream);
  if (page->peer) return machine_.driver.copy(to, PeerTier::alias_of(*page->peer), page.bytes(), stream);
  if (page->host) return machine_.driver.copy_in(to, HostTier::bytes_of(*page->host), page.bytes(), stream);
  return {};  // kEmpty
}

Status PageZeroCopy::begin(PageRef page, const Frame& frame, PageEvent event) {
  const bool was_on_device = page->device.has_value();
  TESSERA_TRY(was_on_device ? replace(page, frame) : map_host(page, frame));
  copies_.drop_all(page);
  page->host = frame;
  page->copy.backed = true;
  if (was_on_device) {
    machine_.tiers.device.give_back(*page->device);
    page->device.reset();
    machine_.stats.evictions += 1;
    ledger_.note_move(page, EventKind::kEvict);
  }
  return ledger_.step(page, event);
}

Status PageZeroCopy::map_host(PageRef page, const Frame& frame) {
  page->copy.opened_to = 0;
  TESSERA_TRY(mappings_.map_other(page, machine_.tiers.zero_copy->handle_of(frame)));
  Status allowed = mappings_.grant_access({&page, 1});
  if (!allowed.is_ok()) mappings_.unmap_or_log({&page, 1});
  return allowed;
}

// In place of the device frame. After an error that frame is mapped again, or the page is kApart until its next use.
Status PageZeroCopy::replace(PageRef page, const Frame& frame) {
  TESSERA_TRY(machine_.driver.unmap(page.address(), page.bytes()));
  Status status = map_host(page, frame);
  if (status.is_ok()) return status;
  if (mappings_.map(page).is_ok()) {
    if (mappings_.grant_access({&page, 1}).is_ok()) return status;
    mappings_.unmap_or_log({&page, 1});
  }
  TESSERA_TRY(ledger_.step(page, PageEvent::kTakeApart));
  return status;
}

Status PageZeroCopy::end(std::span<const PageRef> pages) {
  std::size_t placed = 0;
  Status status;
  while (placed < pages.size() && (status = replace_host(pages[placed])).is_ok()) ++placed;
  const auto ready = pages.first(placed);
  if (Status filled = fill(ready); !filled.is_ok()) {
    for (const PageRef& page : ready) mappings_.give_back(page);
    map_again(ready);
    return filled;
  }
  for (const PageRef& page : ready) TESSERA_TRY(finish_end(page));
  return status;
}

// Maps a device frame there, as yet without the bytes.
Status PageZeroCopy::replace_host(PageRef page) {
  page->transfer.started = machine_.log.begin_move(Link::kIn, page.address(), page.bytes());
  TESSERA_TRY_ASSIGN(page->device, machine_.tiers.device.take(page.page_class()));
  if (Status unmapped = machine_.driver.unmap(page.address(), page.bytes()); !unmapped.is_ok()) {
    mappings_.give_back_apart(page);
    return unmapped;
  }
  Status mapped = mappings_.map_or_give_back(page);
  if (!mapped.is_ok()) map_again({&page, 1});
  return mapped;
}

// Waits for the copies that were queued, also if another could not be.
Status PageZeroCopy::fill(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  TESSERA_TRY(mappings_.grant_access(pages));
  const StreamId inbound = machine_.lanes.inbound(kHostLane);
  Status status;
  for (const PageRef& page : pages) {
    status = machine_.driver.copy(page.address(), BackingTier::alias_of(*page->host), page.bytes(), inbound);
    if (!status.is_ok()) break;
  }
  Status waited = machine_.driver.synchronize(inbound);
  if (!waited.is_ok()) waited = machine_.driver.synchronize(machine_.device);
  return status.is_ok() ? waited : status;
}

Status PageZeroCopy::finish_end(PageRef page) {
  page->copy.backed = false;
  machine_.tiers.zero_copy->give_back(*page->host);
  page->host.reset();
  machine_.stats.fetches += 1;
  ledger_.note_move(page, EventKind::kFetch);
  return ledger_.step(page, PageEvent::kBack);
}

// Counts the page as missing before it reads whether the run is dead: an allocation first counts itself live and then
// looks for missing pages, so one side always sees the other.
Result<Bytes> PageZeroCopy::discard_dead(Run& run) {
  Bytes discarded;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (!is_in_host(page->state)) continue;
    run.add_missing();
    Status status;
    if (run.is_dead()) {
      status = discard(page);
      discarded += page.bytes();
    }
    run.drop_missing();
    TESSERA_TRY(status);
  }
  return discarded;
}

Status PageZeroCopy::discard_all(Run& run) {
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    if (run.pages[i].state == PageState::kZeroCopy) TESSERA_TRY(discard({&run, i}));
  }
  return {};
}

Status PageZeroCopy::discard(PageRef page) {
  copies_.drop_all(page);
  machine_.stats.discards += 1;
  return ledger_.step(page, PageEvent::kDiscard);
}

// Access lasts as long as the mapping.
Status PageZeroCopy::open_to_others(std::span<const PageRef> pages) {
  const std::vector<DeviceId> devices = machine_.tiers.zero_copy->admitted();
  std::vector<PageRef> closed;
  std::ranges::copy_if(pages, std::back_inserter(closed), [&](const PageRef& page) {
    return page->state == PageState::kZeroCopy && page->copy.opened_to < devices.size();
  });
  TESSERA_TRY(for_each_stretch(closed, [&](Address address, Bytes bytes, std::span<const PageRef>) {
    Status status;
    for (const DeviceId user : devices) {
      if (status.is_ok() && user != machine_.device) status = machine_.grant_access(address, bytes, user);
    }
    return status;
  }));
  for (const PageRef& page : closed) page->copy.opened_to = static_cast<std::uint8_t>(devices.size());
  return {};
}

void PageZeroCopy::map_again(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    const Status mapped = map_host(page, *page->host);
    if (!mapped.is_ok()) lose(page, mapped);
  }
}

void PageZeroCopy::lose(PageRef page, const Status& reason) {
  log_line(LogLevel::kError, "the page at {:#x} is lost: its host memory could not be mapped again: {}",
           page.address().value(), reason.to_string());
  page->copy.backed = false;
  machine_.tiers.zero_copy->give_back(*page->host);
  page->host.reset();
  if (const Status lost = ledger_.step(page, PageEvent::kLose); !lost.is_ok()) {
    log_line(LogLevel::kError, "{}", lost.to_string());
  }
}

}  // namespace tessera
