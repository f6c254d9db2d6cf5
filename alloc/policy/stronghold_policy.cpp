#include "policy/stronghold_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

struct Layer {
  double compute = 0;
  double fetch = 0;  // of its weights
  Bytes weights;
};

std::vector<Layer> layers_of(const PlanGround& ground) {
  std::vector<Layer> layers(ground.structure.layer_begin.size());
  std::vector<std::uint32_t> counted(ground.iteration.runs.size());  // layer + 1 of the last count
  for (std::uint32_t step = 0; step < ground.iteration.steps.size(); ++step) {
    const std::uint32_t layer = ground.structure.layer_of[step];
    layers[layer].compute += static_cast<double>(ground.iteration.steps[step].duration.value());
    for (const RunUse& use : ground.iteration.uses_of(step)) {
      const bool is_weight = ground.structure.classes[use.run] == RunClass::kWeight;
      if (!is_weight || counted[use.run] == layer + 1) continue;
      counted[use.run] = layer + 1;
      layers[layer].fetch += ground.time.copy_in(use.run);
      layers[layer].weights += ground.iteration.runs[use.run].bytes;
    }
  }
  return layers;
}

// Layers before this one whose computing covers its fetch.
std::size_t covering(const std::vector<Layer>& layers, std::size_t layer) {
  double computed = 0;
  for (std::size_t before = 1; before < layers.size(); ++before) {
    computed += layers[(layer + layers.size() - before) % layers.size()].compute;
    if (computed >= layers[layer].fetch) return before;
  }
  return 1;  // no window does it
}

Bytes largest_window(const std::vector<Layer>& layers, std::size_t window) {
  Bytes bytes;
  for (std::size_t i = 0; i <= window; ++i) bytes += layers[i % layers.size()].weights;
  Bytes largest = bytes;
  for (std::size_t first = 0; first < layers.size(); ++first) {
    bytes += layers[(first + window + 1) % layers.size()].weights;
    bytes -= layers[first].weights;
    largest = std::max(largest, bytes);
  }
  return largest;
}

// Layers fetched ahead, at least 1.
std::uint32_t window_of(const PlanGround& ground) {
  const std::vector<Layer> layers = layers_of(ground);
  std::size_t window = 1;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    window = std::max(window, covering(layers, layer));
  }
  while (window > 1 && largest_window(layers, window) > ground.machine.device) --window;
  return static_cast<std::uint32_t>(window);
}

}  // namespace

AbsencePlan StrongholdPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const std::uint32_t window = window_of(ground);
  for (const Gap& gap : ground.gaps) {
    switch (ground.class_of(gap)) {
      case RunClass::kWeight:
        if (ground.layers_between(gap) > window) ground.leave_for_layers(gap, Away::kHost, window);
        break;
      case RunClass::kOptimizer:
      case RunClass::kGradient: ground.plan.push_back(ground.in_time(gap)); break;
      default: break;
    }
  }
  return std::move(ground.plan);
}

}  // namespace tessera
