// Moves one page one step: the mechanism under every move, which decides nothing.
//
// Each call takes a page of a run from one legal state to the next (page_state.hpp), queues the
// copy or transfer that goes with it, and keeps Run::missing true. Order is always: copy complete,
// unmap, mark; and map, copy, mark on the way back. A call that fails leaves the page in the state
// it had, with the same valid copy.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <vector>

#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "residency/gate.hpp"
#include "residency/residency_stats.hpp"
#include "residency/run.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

// A page by name: the run's `page`-th.
struct PageRef {
  Run* run = nullptr;
  std::uint32_t page = 0;

  Page& operator*() const { return run->pages[page]; }
  Page* operator->() const { return &run->pages[page]; }
  Address address() const { return run->page_address(page); }
  PageClass page_class() const { return run->shape.page_class(page); }
  Bytes bytes() const { return page_bytes(page_class()); }
};

class PageMover {
 public:
  PageMover(Driver& driver, DeviceId device, TierStack tiers, Gate& gate, EventLog& log,
            ResidencyStats& stats, StreamId inbound, StreamId outbound);
  ~PageMover();

  // kEmpty -> kResident with a new frame. Errors: kOutOfMemory when the device tier has none.
  Status back(PageRef page);
  // kCold (in host) -> kArriving. Errors: kOutOfMemory as back().
  Status copy_in(PageRef page);
  // kResident -> kLeaving. The outbound stream must already wait for the page's users.
  // Errors: kOutOfMemory when neither the host budget nor the staging reserve has a frame.
  Status copy_out(PageRef page);
  // kCold in host -> kSinking; errors: kOutOfMemory when the file tier is full.
  Status sink(PageRef page);
  // kCold in file -> kRising; errors: kBusy when no host or staging frame is free.
  Status rise(PageRef page);

  // Steps that end a transfer if it has ended: true when the page took a step. `wait` waits.
  Result<bool> finish_arrival(PageRef page, bool wait);
  Result<bool> finish_sink(PageRef page, bool wait);
  Result<bool> finish_rise(PageRef page, bool wait);
  // Whether the copy of a kLeaving page is done.
  Result<bool> copied_out(PageRef page, bool wait);

  // Takes the device frames of these pages away behind the closed gate: kResident with a valid
  // copy or dead, kLeaving with the copy done. A page used since its copy began is forwarded, a
  // page whose run is dead is discarded. REQUIRES: all uses of the runs are over (streams passed).
  Status vacate(const std::vector<PageRef>& pages);
  // Drops whatever copies the page has in lower tiers. REQUIRES: no transfer in flight.
  void drop_copies(PageRef page);
  // A dead run's cold page: -> kEmpty.
  Status discard(PageRef page);

  // Whether the copy in a lower tier equals the device's bytes.
  static bool is_clean(const PageRef& page);

 private:
  Status step(PageRef page, PageEvent event);
  Status map_frame(PageRef page, const Frame& frame);
  Status vacate_closed(PageRef page);
  Result<Frame> host_frame(PageClass page_class, bool& staging);
  void return_host(Page& page);
  Result<EventId> take_event();
  void return_event(EventId event);

  Driver& driver_;
  const DeviceId device_;
  TierStack tiers_;
  Gate& gate_;
  EventLog& log_;
  ResidencyStats& stats_;
  const StreamId inbound_;
  const StreamId outbound_;
  std::vector<EventId> spare_events_;
};

}  // namespace tessera
