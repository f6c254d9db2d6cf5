// What every published plan stands on: the gaps there are, and the plan that grows from freeing the dead.
//
// Liveness is no strategy here: a program's own frees are in every plan. A strategy picks among
// the gaps in which bytes could be elsewhere, never those of pinned runs or without a step inside.
//
// Thread safety: none; one planner's own. The iteration and the machine outlive it.
#pragma once

#include <vector>

#include "learn/gap_time.hpp"
#include "learn/structure.hpp"

namespace tessera {

class PlanGround {
 public:
  PlanGround(const Iteration& iteration, const Machine& machine);

  const Iteration& iteration;
  const Machine& machine;
  const Structure structure;
  const GapTime time;
  std::vector<Gap> gaps;  // that live, in find_gaps()'s order
  AbsencePlan plan;       // the dead gaps, to begin with

  RunClass class_of(const Gap& gap) const { return structure.classes[gap.run]; }
  Bytes bytes_of(const Gap& gap) const { return iteration.runs[gap.run].bytes; }
  // Those gaps in which an activation waits for the way back, in the order in which they begin.
  std::vector<Gap> saved_activations() const;
  // Those and the ones too short to leave in, by the layer in which they begin; layers without any: none.
  std::vector<std::vector<Gap>> saved_by_layer() const;
  // Layers that begin between the two uses: 0 if one layer has both.
  std::uint32_t layers_between(const Gap& gap) const;
  // The way back begins one copy's time before the need.
  Absence in_time(const Gap& gap, Away to = Away::kHost) const;
  // Adds them, each coming back when the one needed `ahead` before it is used, so one after the other.
  void leave_in_chain(std::vector<Absence> chosen, std::size_t ahead = 1);
  void leave_in_chain(const std::vector<Gap>& chosen, Away to, std::size_t ahead = 1);
  // Adds the gaps, coming back as late as one link can bring them all in time, one after the other.
  void leave_for_queue(std::vector<Gap> chosen, Away to);
  // Adds the gap, coming back when the layer begins that is `ahead` before the one that needs it.
  void leave_for_layers(const Gap& gap, Away to, std::uint32_t ahead);

 private:
  std::vector<Gap> saved_among(const std::vector<Gap>& some) const;
};

// Of each run: a step on the way forward that uses a weight writes it (else: only reads it). So outputs
// and inputs of convolutions and matrix products are found, and those of norms with them.
std::vector<bool> beside_weights(const Iteration& iteration, const Structure& structure, bool written);
// Most bytes on the device under a plan if there is no limit, so that nothing leaves but by plan.
Bytes planned_peak(const Iteration& iteration, const Machine& machine, const AbsencePlan& plan);
// What a run could be moved to, for strategies made for an SSD: the file where there is one.
Away file_if_any(const Machine& machine);

}  // namespace tessera
