// Fetches runs into device memory, in parts, while other runs are evicted to make room for them.
//
// A fetch takes room as it becomes free, so that both directions of the link are busy. Where the tiers below are too
// full to swap everything at once, pages are fetched one at a time; where the driver has less memory than the budget
// allows, more is evicted.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/device_evictor.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/partial_runs.hpp"
#include "residency/eviction/split_review.hpp"
#include "residency/eviction/transfers.hpp"

namespace tessera {

class Fetcher {
 public:
  Fetcher(Engine& engine, Transfers& transfers, HostEvictor& host_evictor, DeviceEvictor& device_evictor,
          PartialRuns& partial, SplitReview& review)
      : engine_(engine),
        transfers_(transfers),
        host_evictor_(host_evictor),
        device_evictor_(device_evictor),
        partial_(partial),
        review_(review) {}

  // On return the runs are present for work queued on `stream` from then on; with kNoStream they are present already.
  // Pages that a callback is to recompute have their frames. REQUIRES: the runs are held. Errors: as
  // Residency::begin_use; kBusy where calls in progress block the eviction.
  Status fetch(Runs runs, StreamId stream, Oversized oversized);
  // Gives every page a frame and starts its copy; `mapped`: as Transfers::mount(). REQUIRES: sorted runs without
  // duplicates.
  Status bring_in(Runs runs, Transfers::Mapped mapped);
  // By how much the runs, without what is used in host memory, exceed the device. Asks the driver for memory then.
  Bytes excess_of(Runs runs) const;
  // Whether they can be on the device together. REQUIRES: none is a row, and no duplicates.
  Status check_fits(Runs runs) const;
  // Starts fetching the runs, as far as that needs no eviction.
  Status prefetch(Runs runs);

 private:
  struct Need {
    Bytes wanted, pinned, capacity;  // of the runs, of others, of the device
    Bytes excess() const { return wanted + pinned - std::min(wanted + pinned, capacity); }
  };
  Need need_of(Runs runs) const;
  Status make_fit(Runs runs);
  Status check_backing(std::span<const PageRef> pages) const;
  Result<std::vector<PageRef>> absent_pages(Runs runs, Transfers::Mapped mapped);
  Status bring_by_parts(std::span<const PageRef> pages, Transfers::Mapped mapped);
  Status bring(std::vector<PageRef> pages, Transfers::Mapped mapped);
  Status bring_one_by_one(std::span<const PageRef> pages, Transfers::Mapped mapped);
  Result<bool> on_host(PageRef page);
  Status help_driver(Bytes bytes, const Status& refusal);

  Engine& engine_;
  Transfers& transfers_;
  HostEvictor& host_evictor_;
  DeviceEvictor& device_evictor_;
  PartialRuns& partial_;
  SplitReview& review_;
};

}  // namespace tessera
