// Carries out the evictions that an active plan has ordered (Engine::orders).
//
// Thread safety: none; the engine's lock.
#pragma once

#include "residency/engine.hpp"
#include "residency/eviction/run_eviction.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/eviction/victim_choice.hpp"

namespace tessera {

class PlannedEvictions {
 public:
  PlannedEvictions(Engine& engine, Transfers& transfers, RunEviction& eviction)
      : engine_(engine), transfers_(transfers), eviction_(eviction) {}

  // Starts every planned eviction that is due and can start now. `awaited`: a run with work that is about to be
  // waited for.
  void start_due(const Run* awaited = nullptr);
  // Evicts up to `wanted` bytes of runs that are due by plan and have a later next use than launch `than`. They have to
  // be waited for; but any run evicted in their place would have to be fetched again, while these are evicted in any
  // case.
  Bytes evict_for(Bytes wanted, std::uint64_t than, VictimChoice::Recency recency);

 private:
  bool carry_out(const IterationTracker::Order& order);
  void await_fetch(const Run& run);

  Engine& engine_;
  Transfers& transfers_;
  RunEviction& eviction_;
};

}  // namespace tessera
