#include "residency/pages/page_links.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tessera {
namespace {

// The last page of a batch starts 0.25 ms after the first at 25 GB/s; each page saves a call and an event, some
// microseconds of a lock that launches wait for.
constexpr Bytes kTogether = 8_MiB;

}  // namespace

PageLinks::PageLinks(const PageMachine& machine, const PageMappings& mappings, PageFingerprints& fingerprints)
    : machine_(machine), mappings_(mappings), fingerprints_(fingerprints) {
  for (std::size_t i = 0; i < 2 * machine.lanes.count(); ++i) meters_.emplace_back(machine.driver, machine.device);
}

PageLinks::~PageLinks() {
  for (EventId event : spare_events_) {
    if (Status status = machine_.driver.destroy_event(event); !status.is_ok()) {
      log_line(LogLevel::kDebug, "an event could not be destroyed: {}", status.to_string());
    }
  }
}

// ---- events ------------------------------------------------------------------------------------

Result<EventId> PageLinks::take_event() {
  if (spare_events_.empty()) return machine_.driver.create_event(machine_.device);
  const EventId event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

void PageLinks::give_back_event(PageRef page) { give_back(page->transfer.event); }

// A shared one returns to the pool with its last page.
void PageLinks::give_back(EventId event) {
  if (const auto shared = event_shares_.find(event); shared != event_shares_.end()) {
    if (--shared->second > 0) return;
    event_shares_.erase(shared);
  }
  spare_events_.push_back(event);
}

// The pages wait for this event together.
void PageLinks::share_event(EventId event, std::span<const PageRef> pages) {
  if (pages.size() > 1) event_shares_.emplace(event, pages.size());
  for (const PageRef& page : pages) page->transfer.event = event;
}

Status PageLinks::record_for(std::span<const PageRef> pages, StreamId stream) {
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  if (Status status = record_or_wait(event, stream); !status.is_ok()) {
    give_back(event);
    return status;
  }
  share_event(event, pages);
  return {};
}

Result<bool> PageLinks::is_done(PageRef page, bool wait) {
  Driver& driver = machine_.driver;
  Status status = wait ? driver.synchronize(page->transfer.event) : driver.query(page->transfer.event);
  if (status.code() == Code::kNotReady) return false;
  // A failed wait does not mean that the copy failed: wait for the whole device.
  if (wait && !status.is_ok()) status = driver.synchronize(machine_.device);
  if (!status.is_ok()) return status;
  return true;
}

// ---- queueing ----------------------------------------------------------------------------------

std::size_t PageLinks::batch_of(std::span<const PageRef> pages) const {
  if (!copies_at_once_) return 1;
  // The copies of a batch use one link. Resident pages have no frame below yet: PageCopies::take() sees to it.
  const auto by_copy = [first = pages.front()](const PageRef& page) {
    if (page->state == PageState::kResident) return true;
    return (page->state == PageState::kApart || page->state == PageState::kCold) && page->lane() == first->lane();
  };
  std::size_t count = 0;
  for (Bytes sum; count < pages.size() && by_copy(pages[count]); ++count) {
    sum += pages[count].bytes();
    if (sum > kTogether) break;
  }
  return std::max<std::size_t>(count, 1);
}

Status PageLinks::queue(CopyWay way, std::span<const PageRef> pages) {
  const bool in = way == CopyWay::kIn;
  const std::size_t lane = pages.front()->lane();
  const bool peer = lane != kHostLane;
  const StreamId stream = in ? machine_.lanes.inbound(lane) : machine_.lanes.outbound(lane);
  LinkMeter& meter = this->meter(way, lane);
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  Bytes bytes;
  for (const PageRef& page : pages) bytes += page.bytes();
  meter.before(stream);
  Status status = peer ? queue_with_peer(way, pages, stream) : queue_with_host(way, pages, stream);
  meter.after(stream, bytes);
  if (status.is_ok()) {
    if (!in && !peer) fingerprints_.queue(pages);
    status = record_or_wait(event, stream);
  } else if (pages.size() > 1) {
    await_queued(stream);  // some of the copies may have been queued
  }
  if (!status.is_ok()) {
    for (const PageRef& page : pages) fingerprints_.drop(page);
    give_back(event);
    return status;
  }
  share_event(event, pages);
  for (const PageRef& page : pages) {
    const Link link = peer ? (in ? Link::kPeerIn : Link::kPeerOut) : (in ? Link::kIn : Link::kOut);
    page->transfer.started = machine_.log.begin_move(link, page.address(), page.bytes());
  }
  return {};
}

Status PageLinks::queue_with_host(CopyWay way, std::span<const PageRef> pages, StreamId stream) {
  // Checked here because the last frame taken may be the first that could not be pinned.
  if (pages.size() > 1 && copies_at_once_ && machine_.tiers.host.pinned()) {
    std::vector<HostCopy> copies;
    for (const PageRef& page : pages) {
      copies.push_back({mappings_.bytes_at(page), HostTier::bytes_of(*page->host), page.bytes()});
    }
    Status status = machine_.driver.copy_all(way, copies, stream);
    if (status.code() != Code::kNotSupported) return status;
    copies_at_once_ = false;
  }
  for (const PageRef& page : pages) {
    void* const host = HostTier::bytes_of(*page->host);
    TESSERA_TRY(way == CopyWay::kIn ? machine_.driver.copy_in(mappings_.bytes_at(page), host, page.bytes(), stream)
                                    : machine_.driver.copy_out(host, mappings_.bytes_at(page), page.bytes(), stream));
  }
  return {};
}

Status PageLinks::queue_with_peer(CopyWay way, std::span<const PageRef> pages, StreamId stream) {
  for (const PageRef& page : pages) {
    const Address own = mappings_.bytes_at(page), there = PeerTier::alias_of(*page->peer);
    const bool in = way == CopyWay::kIn;
    TESSERA_TRY(machine_.driver.copy(in ? own : there, in ? there : own, page.bytes(), stream));
  }
  return {};
}

double PageLinks::rate(CopyWay way, Location beside) {
  if (beside != Location::kPeer) return meter(way, kHostLane).rate();
  double sum = 0;
  std::size_t measured = 0;
  const std::size_t lanes = machine_.lanes.count();
  for (std::size_t lane = lane_to_lender(0); lane < lanes; ++lane) {
    const double one = meter(way, lane).rate();
    sum += one;
    measured += one > 0 ? 1 : 0;
  }
  return measured == 0 ? 0 : sum * static_cast<double>(lanes - 1) / static_cast<double>(measured);
}

double PageLinks::peer_rate() {
  const double in = rate(CopyWay::kIn, Location::kPeer), out = rate(CopyWay::kOut, Location::kPeer);
  return in > 0 && out > 0 ? std::min(in, out) : std::max(in, out);
}

// Work was queued. Without an event that marks its end, its memory may be touched again only after a wait here.
Status PageLinks::record_or_wait(EventId event, StreamId stream) {
  Status recorded = machine_.driver.record_event(event, stream);
  if (!recorded.is_ok()) await_queued(stream);
  return recorded;
}

void PageLinks::await_queued(StreamId stream) {
  Status waited = machine_.driver.synchronize(stream);
  if (!waited.is_ok()) waited = machine_.driver.synchronize(machine_.device);
  if (waited.is_ok() || driver_has_ended(waited)) return;
  log_line(LogLevel::kError, "the end of a copy cannot be observed: {}", waited.to_string());
}

}  // namespace tessera
