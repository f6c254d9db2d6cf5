// Copies of pages over a link, between the device and host or peer memory; small pages are copied several at a time.
//
// Pages of one call share one event and arrive together, so the first waits for the last. That is why a batch is small
// (kTogether), and why large pages are copied alone.
#include <algorithm>

#include "base/log.hpp"
#include "residency/pages/page_mover.hpp"

namespace tessera {
namespace {

// The last page of a batch starts 0.25 ms after the first at 25 GB/s; each page saves a call and an event, some
// microseconds of a lock that launches wait for.
constexpr Bytes kTogether = 8_MiB;

}  // namespace

// ---- events ------------------------------------------------------------------------------------

Result<EventId> PageMover::take_event() {
  if (spare_events_.empty()) return driver_.create_event(device_);
  const EventId event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

void PageMover::give_back_event(EventId event) {
  if (const auto shared = event_shares_.find(event); shared != event_shares_.end()) {
    if (--shared->second > 0) return;
    event_shares_.erase(shared);
  }
  spare_events_.push_back(event);
}

// The pages wait for this event together.
void PageMover::share_event(EventId event, std::span<const PageRef> pages) {
  if (pages.size() > 1) event_shares_.emplace(event, pages.size());
  for (const PageRef& page : pages) page->event = event;
}

// ---- queueing ----------------------------------------------------------------------------------

std::size_t PageMover::batch_of(std::span<const PageRef> pages) const {
  if (!copies_at_once_) return 1;
  // Fetches of a batch use one link; the target of evictions is not known yet.
  const auto by_copy = [first = pages.front()](const PageRef& page) {
    if (page->state == PageState::kResident || page->state == PageState::kApart) return true;
    return page->state == PageState::kCold && beside_of(*page) == beside_of(*first);
  };
  std::size_t count = 0;
  for (Bytes sum; count < pages.size() && by_copy(pages[count]); ++count) {
    sum += pages[count].bytes();
    if (sum > kTogether) break;
  }
  return std::max<std::size_t>(count, 1);
}

// REQUIRES: the pages' frames at the other end exist, all in one memory. After a failure nothing is in flight for them.
Status PageMover::queue_copies(CopyWay way, std::span<const PageRef> pages) {
  const bool in = way == CopyWay::kIn;
  const CopyLocation beside = beside_of(*pages.front());
  const bool peer = beside == CopyLocation::kPeer;
  const StreamId stream = in ? lanes_.inbound(beside) : lanes_.outbound(beside);
  LinkMeter& meter = this->meter(way, beside);
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  Bytes bytes;
  for (const PageRef& page : pages) bytes += page.bytes();
  meter.before(stream);
  Status status = peer ? queue_with_peer(way, pages, stream) : queue_on(way, pages, stream);
  meter.after(stream, bytes);
  if (status.is_ok()) {
    if (!in && !peer) queue_fingerprints(pages);
    status = record_or_wait(event, stream);
  } else if (pages.size() > 1) {
    await_queued(stream);  // some of the copies may have been queued
  }
  if (!status.is_ok()) {
    for (const PageRef& page : pages) drop_fingerprint(page);
    give_back_event(event);
    return status;
  }
  share_event(event, pages);
  for (const PageRef& page : pages) {
    const Link link = peer ? (in ? Link::kPeerIn : Link::kPeerOut) : (in ? Link::kIn : Link::kOut);
    page->started = log_.begin_move(link, page.address(), page.bytes());
  }
  return {};
}

// The address at which copies access the page's bytes on the device.
Address PageMover::bytes_at(PageRef page) const {
  return is_apart(page->state) ? tiers_.device.alias_of(*page->device) : page.address();
}

Status PageMover::queue_on(CopyWay way, std::span<const PageRef> pages, StreamId stream) {
  // Checked here because the last frame taken may be the first that could not be pinned.
  if (pages.size() > 1 && copies_at_once_ && tiers_.host.pinned()) {
    std::vector<HostCopy> copies;
    for (const PageRef& page : pages) {
      copies.push_back({bytes_at(page), HostTier::bytes_of(*page->host), page.bytes()});
    }
    Status status = driver_.copy_all(way, copies, stream);
    if (status.code() != Code::kNotSupported) return status;
    copies_at_once_ = false;
  }
  for (const PageRef& page : pages) {
    void* const host = HostTier::bytes_of(*page->host);
    TESSERA_TRY(way == CopyWay::kIn ? driver_.copy_in(bytes_at(page), host, page.bytes(), stream)
                                    : driver_.copy_out(host, bytes_at(page), page.bytes(), stream));
  }
  return {};
}

Status PageMover::queue_with_peer(CopyWay way, std::span<const PageRef> pages, StreamId stream) {
  for (const PageRef& page : pages) {
    const Address own = bytes_at(page), there = PeerTier::alias_of(*page->peer);
    const bool in = way == CopyWay::kIn;
    TESSERA_TRY(driver_.copy(in ? own : there, in ? there : own, page.bytes(), stream));
  }
  return {};
}

double PageMover::peer_rate() {
  const double in = meter(CopyWay::kIn, CopyLocation::kPeer).rate(),
               out = meter(CopyWay::kOut, CopyLocation::kPeer).rate();
  return in > 0 && out > 0 ? std::min(in, out) : std::max(in, out);
}

// Work was queued. Without an event that marks its end, its memory may be touched again only after a wait here.
Status PageMover::record_or_wait(EventId event, StreamId stream) {
  Status recorded = driver_.record_event(event, stream);
  if (!recorded.is_ok()) await_queued(stream);
  return recorded;
}

void PageMover::await_queued(StreamId stream) {
  Status waited = driver_.synchronize(stream);
  if (!waited.is_ok()) waited = driver_.synchronize(device_);
  if (!waited.is_ok()) log_line(LogLevel::kError, "the end of a copy cannot be observed: {}", waited.to_string());
}

// ---- both directions ---------------------------------------------------------------------------

// One page in any state that mount() accepts, or several to be fetched by copy.
Status PageMover::fill_frames(std::span<const PageRef> pages) {
  const PageRef first = pages.front();
  if (first->state == PageState::kEmpty) return step(first, PageEvent::kBack);
  if (first->state == PageState::kGone) return step(first, PageEvent::kMount);
  TESSERA_TRY(queue_copies(CopyWay::kIn, pages));
  for (const PageRef& page : pages) TESSERA_TRY(step(page, PageEvent::kCopyIn));
  return {};
}

// Takes frames for as many of the first pages as possible, and returns how many; or for one alone, if in a staging
// frame.
Result<std::size_t> PageMover::take_frames_beside(std::span<const PageRef> pages, CopyLocation to) {
  std::size_t taken = 0;
  Status status;
  // These copies are stale, or the pages would not have to be copied. Dropped also for pages that will find no frame,
  // since their `copied` has been set by now.
  for (const PageRef& page : pages) {
    drop_copies(page);
    page->proven = false;
  }
  while (taken < pages.size() && (status = take_frame(pages[taken], to)).is_ok()) {
    ++taken;
    if (!pages[taken - 1]->staging) continue;
    // It is spilled to the file as soon as it is copied out, so it is copied alone.
    if (taken > 1) return_host_frame(pages[--taken]);
    break;
  }
  if (taken == 0) return status;
  return taken;
}

Result<std::size_t> PageMover::copy_out(std::span<const PageRef> pages, CopyLocation to) {
  std::size_t taken = 0;
  TESSERA_TRY_ASSIGN(taken, take_frames_beside(pages, to));
  const auto ready = pages.first(taken);
  if (Status queued = queue_copies(CopyWay::kOut, ready); !queued.is_ok()) {
    for (const PageRef& page : ready) return_near_frame(page);
    return queued;
  }
  for (const PageRef& page : ready) TESSERA_TRY(step(page, PageEvent::kCopyOut));
  return taken;
}

}  // namespace tessera
