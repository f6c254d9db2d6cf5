// Evicts one run from the device, by pages: dead and clean ones at once, the others by a copy, some only after a check
// whether they have changed. A run that a callback recomputes is dropped whole and without a copy. One whose uses
// launches do not show stays mapped, in host memory (docs/decisions/0047-unhinted-access-by-block.md).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class RunEviction {
 public:
  // Why a run is evicted. Ahead of need only idle runs are; by plan the copy waits, not the caller.
  enum class Patience : std::uint8_t { kAhead, kPlanned, kDemand };
  enum class Which : std::uint8_t { kAll, kIdle, kWithoutCopy, kDead };  // what may be chosen
  enum class Worth : std::uint8_t { kIfItPays, kAnyhow };

  RunEviction(Engine& engine, PageMoves& moves, Transfers& transfers, HostEvictor& host_evictor)
      : engine_(engine), moves_(moves), transfers_(transfers), host_evictor_(host_evictor) {}

  // Evicts `wanted` bytes of the run in whole pages, since its next use may need the rest; all of it where it is to be
  // recomputed. Returns the bytes that were or are being evicted: none while the run may not be evicted. Without `to`,
  // a page with a valid copy needs no other; the rest goes to a peer, or to the host where no peer lends or has room.
  // Pages for the file go to the host and on from there. `decided`: for a plan, the epoch when it decided on the
  // eviction; never = now.
  Result<Bytes> start(Run& run, Bytes wanted, Patience patience, Which which = Which::kAll,
                      std::optional<Location> to = {}, Epoch decided = {});
  // Evicts all of the run and waits. Errors: kBusy for a run that is held, pinned, or used meanwhile, also by work that
  // does not end.
  Status evict(Run& run, std::optional<Location> to = {});
  // All of the run that is on its way to the device has arrived. Errors: kBusy where the work that recomputes it does
  // not end.
  Status await_arrival(Run& run);
  // Whether to drop the run instead of copying it to `to`.
  bool may_drop(const Run& run, Worth worth, std::optional<Location> to = {}) const;

 private:
  // Work queued on the streams of a mask, up to an epoch.
  struct Work {
    std::uint64_t mask = 0;
    Epoch until{};
  };
  // Pages of a run that is to be evicted, by what each needs first.
  struct EvictionSet {
    std::vector<PageRef> free_at_once, to_check, to_copy;
    bool apart = false;  // pages to copy or to check are unmapped first
  };
  Result<bool> await_work(const Run& run, Work& work);
  Result<std::optional<Work>> close_work(const Run& run, Epoch decided);
  // The memory that copies are sent to first.
  Location first_choice(std::optional<Location> to) const;
  Result<EvictionSet> part(Run& run, Bytes wanted, std::optional<Location> to);
  // Whether pages with the file as target can be spilled onward now.
  bool may_go_on(std::optional<Location> to) const;
  Result<Bytes> start_row(Run& row, Bytes wanted, Patience patience, Which which, std::optional<Location> to,
                          Epoch decided);
  Status let_copies_wait(const Work& work, Location to);
  Result<Bytes> evict_by_copy(EvictionSet set, const Work& work, Patience patience, Location to);
  Result<std::size_t> begin_copies(std::span<const PageRef> batch, Location to);
  Result<std::size_t> copy_out(std::span<const PageRef> batch, Epoch used, Patience patience, Location to);
  Result<Bytes> peer_room(Bytes wanted);
  Result<std::size_t> copy_to_peer(std::span<const PageRef> batch, Epoch used);
  Result<Bytes> swap_out(std::span<const PageRef> pages, Patience patience);
  bool should_stay_reachable(const Run& run) const;
  bool has_room_for_reachable(Bytes bytes) const;
  Result<Bytes> keep_reachable(const Run& run, const EvictionSet& set, const Work& work);
  Result<Bytes> drop(Run& run, const Work& work);
  template <class Act>
  Result<Bytes> free_behind(Run& run, const Work& work, Act act);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  HostEvictor& host_evictor_;
};

}  // namespace tessera
