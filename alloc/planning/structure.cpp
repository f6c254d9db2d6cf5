#include "planning/structure.hpp"

#include <algorithm>

namespace tessera {
namespace {

struct UsePattern {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool fresh = false;
  bool writes = false;
};

std::vector<UsePattern> patterns_of(const Iteration& iteration) {
  std::vector<UsePattern> patterns(iteration.runs.size());
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (const RunUse& use : iteration.uses_of(step)) {
      UsePattern& pattern = patterns[use.run];
      if (pattern.count++ == 0) pattern.first = step;
      pattern.fresh |= use.fresh;
      pattern.writes |= use.writes;
    }
  }
  return patterns;
}

// Steps that write permanent runs which were only read before: the weight updates.
std::vector<bool> updating_steps(const Iteration& iteration, const std::vector<UsePattern>& patterns) {
  std::vector<bool> updating(iteration.steps.size()), read(iteration.runs.size());
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (const RunUse& use : iteration.uses_of(step)) {
      if (!use.writes) read[use.run] = true;
      if (use.writes && read[use.run] && !patterns[use.run].fresh) updating[step] = true;
    }
  }
  return updating;
}

// Gradients wait for their update as activations wait for the backward pass, so gaps that end in an update do
// not count. A gap without a step inside says little and gets a tiny weight, as a tie-breaker.
std::uint32_t find_forward_end(const Iteration& iteration, const std::vector<UsePattern>& patterns) {
  constexpr double kShort = 1e-6;
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  const std::vector<bool> updating = updating_steps(iteration, patterns);
  std::vector<double> change(count + 1);
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.wraps || gap.dead || !patterns[gap.run].fresh || updating[gap.until]) continue;
    const double weight = gap.until < gap.after + 2 ? kShort : 1;
    const double bytes = weight * static_cast<double>(iteration.runs[gap.run].bytes.value());
    change[gap.after + 1] += bytes;
    change[gap.until + 1] -= bytes;
  }
  double waiting = 0, most = 0;
  std::uint32_t best = count;
  for (std::uint32_t step = 0; step < count; ++step) {
    waiting += change[step];
    if (waiting > most * (1 + 1e-12) + 1e-12) best = step;
    most = std::max(most, waiting);
  }
  return best;
}

RunClass class_of(const UsePattern& pattern, std::uint32_t forward_end) {
  if (pattern.count == 0) return RunClass::kUnknown;
  const bool forward = pattern.first < forward_end;
  if (pattern.fresh) return forward ? RunClass::kActivation : RunClass::kGradient;
  if (forward || !pattern.writes) return RunClass::kWeight;
  return pattern.count == 1 ? RunClass::kOptimizer : RunClass::kGradient;
}

void find_layers(const Iteration& iteration, Structure& structure) {
  const bool told =
      std::find(structure.classes.begin(), structure.classes.end(), RunClass::kWeight) != structure.classes.end();
  std::vector<std::uint32_t> current, weights;
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    weights.clear();
    for (const RunUse& use : iteration.uses_of(step)) {
      if (structure.classes[use.run] == RunClass::kWeight) weights.push_back(use.run);
    }
    std::sort(weights.begin(), weights.end());
    const bool other = !weights.empty() && weights != current;
    if (step == 0 || !told || (other && !current.empty())) structure.layer_begin.push_back(step);
    if (other) current.swap(weights);
    structure.layer_of.push_back(static_cast<std::uint32_t>(structure.layer_begin.size() - 1));
  }
}

}  // namespace

Structure find_structure(const Iteration& iteration) {
  Structure structure;
  const std::vector<UsePattern> patterns = patterns_of(iteration);
  structure.forward_end = find_forward_end(iteration, patterns);
  for (std::size_t run = 0; run < iteration.runs.size(); ++run) {
    const RunClass told = iteration.runs[run].kind;
    structure.classes.push_back(told != RunClass::kUnknown ? told : class_of(patterns[run], structure.forward_end));
  }
  find_layers(iteration, structure);
  return structure;
}

Bytes largest_step(const Iteration& iteration) {
  Bytes largest;
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    Bytes bytes;
    for (const RunUse& use : iteration.uses_of(step)) bytes += iteration.runs[use.run].bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace tessera
