// Launches that use more memory than the device can hold: the largest of their runs become partial. Part of their pages
// stay on the device, the others stay in host memory that is mapped at their addresses (page_zero_copy.hpp).
//
// A kernel that reads all of a block in a circle gains nothing from pages that move, so the split is left as it is.
// Room for the other blocks of the program is kept beside it: little at first, and what pages of partial runs leave for
// them. Pages change over while no work runs; a launch that needs it waits for that once, and pages return only where
// the program has waited for the device itself.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/device_evictor.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class PartialRuns {
 public:
  // Pages return after this many quiet points, and after twice as many each time that this was too early.
  static constexpr std::uint32_t kQuietPoints = 4;

  PartialRuns(Engine& engine, PageMoves& moves, Transfers& transfers, HostEvictor& host_evictor,
              DeviceEvictor& device_evictor)
      : engine_(engine),
        moves_(moves),
        transfers_(transfers),
        host_evictor_(host_evictor),
        device_evictor_(device_evictor) {}

  // Host memory can be mapped at pages' addresses.
  bool are_possible() const { return engine_.tiers.zero_copy != nullptr; }
  // From now on at least `excess` more bytes of the runs are used in host memory. Waits for all work. REQUIRES:
  // are_possible(); the runs have pages, and no duplicates. Errors: kOutOfMemory where host memory is too small, or
  // too much of the runs has to be on the device; kBusy while other calls in progress hold blocks; kNotReady where work
  // does not end; the driver's. What changed before an error stays so.
  Status make_fit(Runs runs, Bytes excess);
  // Pages of partial runs that were evicted for other blocks are used in host memory too, as they would be evicted
  // again: that much more is kept, up to an eighth of the device. Waits for all work; where that is not possible now,
  // nothing changes. REQUIRES: as make_fit(). Errors: the driver's.
  Status keep_more(Runs runs);
  // The pages `in` get device memory, and the pages `out` of the same sizes are used in host memory in their place.
  // Returns the bytes on the device that have changed: none where host memory has no room, where work does not end, or
  // where calls in progress hold blocks. REQUIRES: `in` are kZeroCopy, `out` kResident. Errors: the driver's.
  Result<Bytes> exchange(std::span<const PageRef> in, std::span<const PageRef> out);
  // All of the run, or of the row, is on the device from now on: others will access its frames. Waits for all work.
  // REQUIRES: the caller holds it. Errors: as make_fit(); kBusy where other calls in progress hold it too.
  Status make_whole(Run& run);
  // Work of other devices may use the runs, also where they are in host memory, until the caller lets go. REQUIRES: it
  // holds them, and all is present. Errors: the driver's.
  Status open_to_others(Runs runs);
  // Another block begins in the run, or the row: its pages get device frames again, as far as the uses of the last
  // block end within the patience. REQUIRES: the contents do not matter, and no launch can find the run yet. Errors:
  // kInternal.
  Status begin_anew(Run& run);
  // The program has waited for all its work: pages return to unused device memory, a few at a time. So do those of runs
  // that no launch names.
  void bring_back();

 private:
  Bytes kept() const;
  Result<Bytes> make_partial(Runs runs, Bytes wanted);
  Status settle(Runs runs);
  Result<std::vector<PageRef>> choose(Runs runs, Bytes wanted);
  Result<Bytes> use_in_host(std::span<const PageRef> pages);
  Result<Bytes> exchange_once(std::span<const PageRef> in, std::span<const PageRef> out);
  Status load(PageRef page);
  void note_split();
  bool bring_back(Run& run, PageState from, Bytes& most);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  HostEvictor& host_evictor_;
  DeviceEvictor& device_evictor_;
  Bytes kept_;                      // for other blocks, since runs are partial
  std::uint32_t quiet_points_ = 0;  // since the last launch that made runs partial
  std::uint32_t wanted_quiet_points_ = kQuietPoints;
  bool has_returned_ = false;  // pages, since then
  bool is_noted_ = false;
};

}  // namespace tessera
