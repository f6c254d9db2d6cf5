// Moves made ahead of need: those of the active plan, and eviction to the watermarks.
//
// IterationTracker reports what is due (iteration_tracker.hpp); this carries it out: runs are evicted after their use
// and fetched before the next one, in order of need. An order that cannot be followed yet waits; one that never can is
// dropped.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <atomic>
#include <span>

#include "residency/engine.hpp"
#include "residency/eviction/device_evictor.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/planned_evictions.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class PlanExecutor {
 public:
  // `awaits_room`: set while an order waits for room that queued work may free; advance() has to be called when
  // that work is over.
  PlanExecutor(Engine& engine, PageMoves& moves, Transfers& transfers, HostEvictor& host_evictor,
               PlannedEvictions& planned, DeviceEvictor& device_evictor, std::atomic<bool>& awaits_room)
      : engine_(engine),
        moves_(moves),
        transfers_(transfers),
        host_evictor_(host_evictor),
        planned_(planned),
        device_evictor_(device_evictor),
        awaits_room_(awaits_room) {}

  // Finishes transfers that are done, carries out what is due, and evicts ahead of need.
  void advance();
  // Reads the launches and carries out what is due.
  void follow();
  // Evicts to the watermarks: on the device where no plan is active, and in host memory.
  void evict_to_watermarks();

  // As the functions of IterationTracker. Drops pending orders: the new plan may need the opposite.
  void set_policy(const Policy& policy, Planner& planner);
  void activate_plan(Iteration iteration, const Strategy& strategy, Runs players);

  // Cancels pending fetches of these runs, by prefetches and by plan orders.
  void cancel_fetches(Runs runs);
  // Cancels all planned evictions.
  void cancel_evictions();
  // The run is about to be removed. REQUIRES: no launch announces it any more, and follow() was called after the last
  // that did.
  void forget(const Run& run);

 private:
  struct Watermarks {
    Bytes low{}, high{};
  };
  Watermarks watermarks(Bytes capacity) const;
  Machine machine() const;
  void decide();
  void carry_out_orders();
  bool bring_back(IterationTracker::Order& order);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  HostEvictor& host_evictor_;
  PlannedEvictions& planned_;
  DeviceEvictor& device_evictor_;
  std::atomic<bool>& awaits_room_;
};

}  // namespace tessera
