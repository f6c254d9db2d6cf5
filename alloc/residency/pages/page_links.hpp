// Copies of pages over a link, between the device and host or peer memory; small pages are copied several at a time.
//
// Pages of one call share one event and arrive together, so the first waits for the last. That is why a batch is small
// (kTogether), and why large pages are copied alone.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "residency/pages/link_meter.hpp"
#include "residency/pages/page_fingerprints.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageLinks {
 public:
  PageLinks(const PageMachine& machine, const PageMappings& mappings, PageFingerprints& fingerprints);
  ~PageLinks();
  PageLinks(const PageLinks&) = delete;
  PageLinks& operator=(const PageLinks&) = delete;

  // How many of the first pages share one copy; at least one.
  std::size_t batch_of(std::span<const PageRef> pages) const;
  // Queues the copies of one batch, with fingerprints where they are wanted. REQUIRES: the pages' frames at the other
  // end exist, all on one lane. After a failure nothing is in flight for them.
  Status queue(CopyWay way, std::span<const PageRef> pages);

  // The event that pages wait for: record_for() marks the end of the work queued so far.
  Status record_for(std::span<const PageRef> pages, StreamId stream);
  Result<bool> is_done(PageRef page, bool wait);  // false: not yet
  void give_back_event(PageRef page);

  // Measured bytes per second; 0 = not measured yet.
  double in_rate() { return rate(CopyWay::kIn, Location::kHost); }
  double out_rate(Location to = Location::kHost) { return rate(CopyWay::kOut, to); }
  double peer_rate();  // of the slower direction, as far as measured

 private:
  LinkMeter& meter(CopyWay way, std::size_t lane) { return meters_[2 * lane + static_cast<std::size_t>(way)]; }
  // Of all links to peers together, of which those not measured yet count as the others in the mean.
  double rate(CopyWay way, Location beside);
  Result<EventId> take_event();
  void give_back(EventId event);
  Status queue_with_host(CopyWay way, std::span<const PageRef> pages, StreamId stream);
  Status queue_with_peer(CopyWay way, std::span<const PageRef> pages, StreamId stream);
  Status record_or_wait(EventId event, StreamId stream);
  void await_queued(StreamId stream);
  void share_event(EventId event, std::span<const PageRef> pages);

  const PageMachine& machine_;
  const PageMappings& mappings_;
  PageFingerprints& fingerprints_;
  std::vector<EventId> spare_events_;
  std::unordered_map<EventId, std::size_t> event_shares_;  // of pages with copies that were queued together
  bool copies_at_once_ = true;                             // until the driver reports that it cannot
  std::deque<LinkMeter> meters_;                           // of each lane in and out
};

}  // namespace tessera
