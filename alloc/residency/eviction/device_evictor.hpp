// Evicts runs from the device: on demand, ahead of need and by plan.
//
// The policy chooses among the runs that may be evicted; an active plan goes before it. A run is evicted by pages: dead
// and clean ones at once, the others by a copy, some only after a check whether they have changed. A run that a
// callback recomputes is dropped whole and without a copy.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "policy/snapshot.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class DeviceEvictor {
 public:
  // Why a run is evicted. Ahead of need only idle runs are; by plan the copy waits, not the caller.
  enum class Patience : std::uint8_t { kAhead, kPlanned, kDemand };

  DeviceEvictor(Engine& engine, PageMoves& moves, Transfers& transfers, HostEvictor& host_evictor)
      : engine_(engine), moves_(moves), transfers_(transfers), host_evictor_(host_evictor) {}

  // The bytes being evicted. If the free room is short of `bytes`, what dead and idle runs hold has been freed first.
  Result<Bytes> evicting_for(Bytes bytes);
  // On return `bytes` are free on the device. Errors: kBusy where calls in progress hold the memory, which will end;
  // kNotReady where work holds it that has not ended within the patience for such work; kOutOfMemory where nothing else
  // can be evicted.
  Status make_room(Bytes bytes);
  // Returns the bytes that were evicted or are being evicted. When the tiers below have no frame for a chosen run, they
  // may lack only large frames; and when they are full, runs that need no copy can still be evicted.
  Result<Bytes> page_out(Bytes bytes, Patience patience);
  // Of dead and idle runs only, which needs no copy.
  Result<Bytes> page_out_dead(Bytes bytes);
  // Evicts `wanted` bytes of the run in whole pages, since its next use may need the rest; all of it where it is to be
  // recomputed. Returns the bytes that were or are being evicted: none while the run may not be evicted. Without `to`,
  // a page with a valid copy needs no other; the rest goes to a peer, or to the host where no peer lends or has room.
  // Pages for the file go to the host and on from there.
  Result<Bytes> start_eviction(Run& run, Bytes wanted, Patience patience, std::optional<Location> to = {}) {
    return start_eviction(run, wanted, patience, Which::kAll, to);
  }
  // Starts every planned eviction that is due and can start now. `awaited`: a run with work that is about to be
  // waited for.
  void start_due_evictions(const Run* awaited = nullptr);
  // Evicts all of the run and waits. Errors: kBusy for a run that is held, pinned, or used meanwhile.
  Status evict(Run& run, std::optional<Location> to = {});

 private:
  enum class Which : std::uint8_t { kAll, kIdle, kBasePages, kWithoutCopy, kDead };  // what may be chosen
  enum class Worth : std::uint8_t { kIfItPays, kAnyhow };
  // kSettled: only runs that an unannounced kernel is no longer likely to use; the others if those do not suffice.
  enum class Recency : std::uint8_t { kSettled, kAny };

  Bytes room_for(Bytes bytes);
  Status await(Transfers::Await await, Bytes bytes);
  Status no_room(Bytes bytes) const;
  Result<Bytes> force_out(Bytes bytes);
  // The runs to evict, first to last.
  Decision choose(Bytes need, Which which, Recency recency);
  Snapshot picture(Bytes need, Which which, Recency recency);
  // How much of the run may be evicted, and how much of that has a valid copy or is dropped.
  void measure(const Run& run, Which which, bool drops, RunPicture& picture) const;
  Result<Bytes> page_out(Bytes bytes, Patience patience, Which which, Recency recency, bool& full);
  bool carry_out(const IterationTracker::Order& order);
  void await_fetch(const Run& run);
  Bytes evict_planned(Bytes wanted, std::uint64_t than, Recency recency);
  // evict.cpp
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
  bool is_held_up(const Run& run, std::uint64_t stuck) const;
  Result<std::optional<Work>> close_work(const Run& run, Epoch decided);
  // The memory that copies are sent to first.
  Location first_choice(std::optional<Location> to) const;
  Result<EvictionSet> part(Run& run, Bytes wanted, std::optional<Location> to);
  // Whether pages with the file as target can be spilled onward now.
  bool may_go_on(std::optional<Location> to) const;
  // `decided`: for a plan, the epoch when it decided on the eviction; never = now.
  Result<Bytes> start_eviction(Run& run, Bytes wanted, Patience patience, Which which, std::optional<Location> to,
                               Epoch decided = {});
  Result<Bytes> start_row_eviction(Run& row, Bytes wanted, Patience patience, Which which, std::optional<Location> to,
                                   Epoch decided);
  Status let_copies_wait(const Work& work, Location to);
  Result<Bytes> evict_by_copy(EvictionSet set, const Work& work, Patience patience, Location to);
  Result<std::size_t> begin_copies(std::span<const PageRef> batch, Location to);
  Result<std::size_t> copy_out(std::span<const PageRef> batch, Epoch used, Patience patience, Location to);
  Result<Bytes> peer_room(Bytes wanted);
  Result<std::size_t> copy_to_peer(std::span<const PageRef> batch, Epoch used);
  Result<Bytes> swap_out(std::span<const PageRef> pages, Patience patience);
  // Whether to drop the run instead of copying it to `to`.
  bool may_drop(const Run& run, Worth worth, std::optional<Location> to = {}) const;
  Result<Bytes> drop(Run& run, const Work& work);
  template <class Act>
  Result<Bytes> free_behind(Run& run, const Work& work, Act act);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  HostEvictor& host_evictor_;
  std::uint32_t ends_seen_ = 0;       // of held uses, when the last search for room began
  std::uint64_t stuck_ = 0;           // slots of streams with work that did not end, at the last choice
  std::vector<RunPicture> pictures_;  // of the last choice: buffer reused by the next, which is as large
};

}  // namespace tessera
