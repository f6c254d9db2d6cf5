#include "lab/published/stronghold_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

struct Layer {
  double compute = 0;
  std::vector<std::uint32_t> weights;  // without duplicates
  std::vector<Gap> ending;             // gaps of weights that end in this layer and have steps inside
};

std::vector<Layer> layers_of(const PlanGround& ground) {
  std::vector<Layer> layers(ground.structure.layer_begin.size());
  std::vector<std::uint32_t> counted(ground.iteration.runs.size());  // layer + 1 of the latest count
  for (std::uint32_t step = 0; step < ground.iteration.steps.size(); ++step) {
    const std::uint32_t layer = ground.structure.layer_of[step];
    const IterationStep& each = ground.iteration.steps[step];
    layers[layer].compute += static_cast<double>((each.before + each.duration).value());
    for (const RunUse& use : ground.iteration.uses_of(step)) {
      const bool is_weight = ground.structure.classes[use.run] == RunClass::kWeight;
      if (!is_weight || counted[use.run] == layer + 1) continue;
      counted[use.run] = layer + 1;
      layers[layer].weights.push_back(use.run);
    }
  }
  for (const Gap& gap : ground.gaps) {
    if (ground.class_of(gap) != RunClass::kWeight) continue;
    layers[ground.structure.layer_of[gap.until]].ending.push_back(gap);
  }
  return layers;
}

// The number of preceding layers with enough computing to cover this layer's fetch: that of the weights that
// are offloaded between two uses this far apart.
std::size_t covering(const PlanGround& ground, const std::vector<Layer>& layers, std::size_t layer) {
  double computed = 0;
  for (std::size_t before = 1; before < layers.size(); ++before) {
    computed += layers[(layer + layers.size() - before) % layers.size()].compute;
    double fetch = 0;
    for (const Gap& gap : layers[layer].ending) {
      if (ground.layers_between(gap) > before) fetch += ground.time.copy_in(gap.run);
    }
    if (computed >= fetch) return before;
  }
  return 1;  // no window suffices
}

// The maximum bytes of weights used by `window` consecutive layers and the next one.
Bytes largest_window(const PlanGround& ground, const std::vector<Layer>& layers, std::size_t window) {
  std::vector<std::size_t> counted(ground.iteration.runs.size());  // first layer + 1 of the latest count
  Bytes largest;
  for (std::size_t first = 0; first < layers.size(); ++first) {
    Bytes bytes;
    for (std::size_t i = 0; i <= window; ++i) {
      for (const std::uint32_t run : layers[(first + i) % layers.size()].weights) {
        if (std::exchange(counted[run], first + 1) != first + 1) bytes += ground.iteration.runs[run].bytes;
      }
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

// The number of layers fetched ahead, at least 1.
std::uint32_t window_of(const PlanGround& ground) {
  const std::vector<Layer> layers = layers_of(ground);
  std::size_t window = 1;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    window = std::max(window, covering(ground, layers, layer));
  }
  while (window > 1 && largest_window(ground, layers, window) > ground.machine.device) --window;
  return static_cast<std::uint32_t>(window);
}

}  // namespace

OffloadPlan StrongholdPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const auto layers = static_cast<double>(ground.structure.layer_begin.size());
  const auto window = window_ < 0 ? window_of(ground) : static_cast<std::uint32_t>(std::min(window_, layers));
  for (const Gap& gap : ground.gaps) {
    switch (ground.class_of(gap)) {
      case RunClass::kWeight:
        if (ground.layers_between(gap) <= window) break;
        if (window == 0) {
          ground.plan.push_back({.gap = gap, .back_at = gap.until});
        } else {
          ground.leave_for_layers(gap, Location::kHost, window);
        }
        break;
      case RunClass::kOptimizer:
      case RunClass::kGradient: ground.plan.push_back(ground.in_time(gap)); break;
      default: break;
    }
  }
  return std::move(ground.plan);
}

}  // namespace tessera
