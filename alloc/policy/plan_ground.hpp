// The common base of all published plans: the available gaps, and a plan that initially contains the dead gaps.
//
// Liveness is not a strategy here: the program's own frees are part of every plan. A strategy chooses among the
// gaps in which bytes could be elsewhere, excluding those of pinned runs and those without a step inside.
//
// Thread safety: none; owned by one planner. The iteration and the machine outlive it.
#pragma once

#include <vector>

#include "planning/gap_time.hpp"
#include "planning/structure.hpp"

namespace tessera {

class PlanGround {
 public:
  PlanGround(const Iteration& iteration, const Machine& machine);

  const Iteration& iteration;
  const Machine& machine;
  const Structure structure;
  const GapTime time;
  std::vector<Gap> gaps;  // the gaps that are not dead, in the order of find_gaps()
  OffloadPlan plan;       // initially the dead gaps

  RunClass class_of(const Gap& gap) const { return structure.classes[gap.run]; }
  Bytes bytes_of(const Gap& gap) const { return iteration.runs[gap.run].bytes; }
  // The gaps in which an activation waits for the backward pass, in the order in which they begin.
  std::vector<Gap> saved_activations() const;
  // The same, including those too short to offload, grouped by the layer in which they begin; layers without
  // any are omitted.
  std::vector<std::vector<Gap>> saved_by_layer() const;
  // The number of layers that begin between the two uses: 0 if both are in one layer.
  std::uint32_t layers_between(const Gap& gap) const;
  // An interval with a fetch that begins one copy time before the use.
  OffloadInterval in_time(const Gap& gap, Location to = Location::kHost) const;
  // Adds intervals; each is fetched when the one needed `ahead` before it is used, so one after the other.
  void leave_in_chain(std::vector<OffloadInterval> chosen, std::size_t ahead = 1);
  void leave_in_chain(const std::vector<Gap>& chosen, Location to, std::size_t ahead = 1);
  // Adds gaps; each is fetched as late as possible for a single link that brings them in one after the other.
  void leave_for_queue(std::vector<Gap> chosen, Location to);
  // Adds a gap; it is fetched when the layer begins that is `ahead` layers before the one that needs it.
  void leave_for_layers(const Gap& gap, Location to, std::uint32_t ahead);

 private:
  std::vector<Gap> saved_among(const std::vector<Gap>& some) const;
};

// For each run, whether a forward step that uses a weight writes it (or, for `written` false, only reads it).
// This finds outputs and inputs of convolutions and matrix products, and also those of norms.
std::vector<bool> beside_weights(const Iteration& iteration, const Structure& structure, bool written);
// The peak bytes on the device under a plan with unlimited memory, so that nothing is evicted except by the
// plan.
Bytes planned_peak(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan);
// The target for strategies designed for an SSD: the file if there is one, else the host.
Location file_if_any(const Machine& machine);

}  // namespace tessera
