// Draws random plans close to a given plan: the candidates of a search.
//
// One kind of change is drawn and applied to one to three intervals: another part of the run is evicted; it is
// fetched sooner or later; it is not evicted; an unused gap is used; or, if the host cannot hold everything,
// the target changes between host and file. Intervals and gaps are drawn in proportion to their bytes. Half of
// the plans are then re-timed (aggressive_plan.hpp), so that the moves around the change adapt to it; where blocks
// are held after their last use, half of these as if they were not, which leaves more to what is decided on demand.
//
// Thread safety: none. The same plans are drawn on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "planning/offload_interval.hpp"

namespace tessera {

class PlanNeighbours {
 public:
  // Both arguments are kept by reference.
  PlanNeighbours(const Iteration& iteration, const Machine& machine);

  // Returns `plan` itself if nothing could be changed. No two intervals use the same gap and no interval is of
  // a pinned run, provided that holds for `plan`.
  OffloadPlan draw(OffloadPlan plan);
  // Uniform in 0 to n - 1. REQUIRES: n > 0.
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  Bytes part_of(const OffloadInterval& interval) const;
  OffloadInterval& drawn(OffloadPlan& plan);
  std::uint32_t span_of(const Gap& gap) const;
  void resize(OffloadInterval& interval);
  void shift(OffloadInterval& interval);
  void place(OffloadInterval& interval);
  void add_to(OffloadPlan& plan);

  const Iteration& iteration_;
  const std::optional<Iteration> freed_;  // freed_at_once()
  const Machine& machine_;
  std::uint64_t changes_ = 0;        // kinds to draw from; the last kind is for hosts that cannot hold everything
  std::mt19937_64 random_;           // the standard specifies its numbers
  std::vector<Gap> gaps_;            // usable gaps, ...
  std::vector<std::uint64_t> ends_;  // ... and their cumulative bytes
};

}  // namespace tessera
