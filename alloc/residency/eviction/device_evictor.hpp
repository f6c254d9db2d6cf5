// Makes room on the device: evicts runs on demand and ahead of need.
//
// The policy chooses among the runs that may be evicted (victim_choice.hpp); an active plan goes before it
// (planned_evictions.hpp).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/planned_evictions.hpp"
#include "residency/eviction/run_eviction.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/eviction/victim_choice.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class DeviceEvictor {
 public:
  using Patience = RunEviction::Patience;

  DeviceEvictor(Engine& engine, PageMoves& moves, Transfers& transfers, RunEviction& eviction,
                PlannedEvictions& planned)
      : engine_(engine),
        moves_(moves),
        transfers_(transfers),
        eviction_(eviction),
        planned_(planned),
        victims_(engine, eviction) {}

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

 private:
  using Which = RunEviction::Which;
  using Recency = VictimChoice::Recency;

  Bytes room_for(Bytes bytes);
  Status await(Transfers::Await await, Bytes bytes);
  Status no_room(Bytes bytes) const;
  Result<Bytes> force_out(Bytes bytes);
  Result<Bytes> page_out(Bytes bytes, Patience patience, Recency recency);
  // Of pages up to the class `most`. `full`: the tiers below had no frame for one of them.
  Result<Bytes> page_out(Bytes bytes, Patience patience, Which which, Recency recency, PageClass most, bool& full);
  // Ahead of need: only idle runs of these, up to `bytes`, and only while the tiers below have room.
  Result<Bytes> page_out_ahead(std::span<const std::size_t> victims, Bytes bytes);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  RunEviction& eviction_;
  PlannedEvictions& planned_;
  VictimChoice victims_;
  std::uint32_t ends_seen_ = 0;  // of held uses, when the last search for room began
};

}  // namespace tessera
