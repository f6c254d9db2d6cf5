// Who comes: brings runs into device memory, in parts, while others leave for them.
//
// What comes takes its room as it becomes free, so that both directions of the link are busy. Where the tiers below are
// too full to swap all at once, pages come one by one; where the driver has less memory than the budget says, more
// leave.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/host_room.hpp"
#include "residency/room.hpp"
#include "residency/transfers.hpp"

namespace tessera {

class Arrivals {
 public:
  Arrivals(Engine& engine, Transfers& transfers, HostRoom& host_room, Room& room)
      : engine_(engine), transfers_(transfers), host_room_(host_room), room_(room) {}

  // The runs are there for work that is queued on `stream` from now on; with kNoStream, when this returns. What a
  // callback is to remake has its frames. REQUIRES: they are held. Errors: as Residency::begin_use; kBusy where calls
  // under way are in the way.
  Status fetch(Runs runs, StreamId stream);
  // Every page has its frame and its copy under way. REQUIRES: sorted runs, each once.
  Status bring_in(Runs runs);
  // Starts bringing them in while nobody has to leave for it.
  Status prefetch(Runs runs);

 private:
  Status check_fits(Runs runs) const;
  Status check_backing(std::span<const PageRef> pages) const;
  Result<std::vector<PageRef>> absent_pages(Runs runs);
  Status bring_by_parts(std::span<const PageRef> pages);
  Status bring(std::vector<PageRef> pages);
  Status bring_one_by_one(std::span<const PageRef> pages);
  Result<bool> on_host(PageRef page);
  Status help_driver(Bytes bytes, const Status& refusal);

  Engine& engine_;
  Transfers& transfers_;
  HostRoom& host_room_;
  Room& room_;
};

}  // namespace tessera
