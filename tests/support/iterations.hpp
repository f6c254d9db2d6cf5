// Hand-built iterations: a builder, and the shapes used in the published policies' papers.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "planning/offload_interval.hpp"

namespace tessera::test {

inline constexpr double kRate = 1e9;  // 1 byte takes 1 ns

class IterationBuilder {
 public:
  std::uint32_t run(Bytes bytes, RunClass kind = RunClass::kUnknown, Nanoseconds recompute = {}) {
    iteration_.runs.push_back({.bytes = bytes, .recompute = recompute, .kind = kind});
    return static_cast<std::uint32_t>(iteration_.runs.size() - 1);
  }
  void step(std::uint64_t nanoseconds, std::initializer_list<RunUse> uses) {
    step(nanoseconds, std::vector<RunUse>(uses));
  }
  void step(std::uint64_t nanoseconds, const std::vector<RunUse>& uses) {
    const auto first = static_cast<std::uint32_t>(iteration_.uses.size());
    iteration_.uses.insert(iteration_.uses.end(), uses.begin(), uses.end());
    iteration_.steps.push_back({.duration = Nanoseconds(nanoseconds),
                                .first_use = first,
                                .end_use = static_cast<std::uint32_t>(iteration_.uses.size())});
  }
  const Iteration& done() const { return iteration_; }

 private:
  Iteration iteration_;
};

inline RunUse reads(std::uint32_t run) { return {.run = run}; }
inline RunUse writes(std::uint32_t run) { return {.run = run, .writes = true}; }
inline RunUse makes(std::uint32_t run) { return {.run = run, .writes = true, .fresh = true}; }

// Equal layers: forward step i makes activation i, and the backward steps read them in reverse order. Nothing else.
inline Iteration stack(std::uint32_t layers, Bytes bytes, std::uint64_t nanoseconds) {
  IterationBuilder build;
  for (std::uint32_t i = 0; i < layers; ++i) build.run(bytes);
  for (std::uint32_t i = 0; i < layers; ++i) build.step(nanoseconds, {makes(i)});
  for (std::uint32_t i = layers; i-- > 0;) build.step(nanoseconds, {reads(i)});
  return build.done();
}

// The indices of the runs in a training iteration: activations first, then weights, optimizer states, and weight
// gradients.
struct TrainingShape {
  std::uint32_t layers = 8;
  Bytes activation = 8_MiB;
  Bytes weight = 4_MiB;
  Bytes optimizer = 8_MiB;
  std::uint64_t nanoseconds = 1'000'000;  // forward; backward takes twice, the update half as long
  Nanoseconds recompute{};                // of an activation

  std::uint32_t weight_of(std::uint32_t layer) const { return layers + layer; }
  std::uint32_t optimizer_of(std::uint32_t layer) const { return 2 * layers + layer; }
  std::uint32_t gradient_of(std::uint32_t layer) const { return 3 * layers + layer; }
};

// Forward, backward, update, without tags.
inline Iteration training(const TrainingShape& shape = {}) {
  IterationBuilder build;
  const std::uint32_t n = shape.layers;
  for (std::uint32_t i = 0; i < n; ++i) build.run(shape.activation, RunClass::kUnknown, shape.recompute);
  for (std::uint32_t i = 0; i < n; ++i) build.run(shape.weight);
  for (std::uint32_t i = 0; i < n; ++i) build.run(shape.optimizer);
  for (std::uint32_t i = 0; i < n; ++i) build.run(shape.weight);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::vector<RunUse> uses{makes(i), reads(shape.weight_of(i))};
    if (i > 0) uses.push_back(reads(i - 1));
    build.step(shape.nanoseconds, uses);
  }
  for (std::uint32_t i = n; i-- > 0;) {
    build.step(2 * shape.nanoseconds, {reads(i), reads(shape.weight_of(i)), makes(shape.gradient_of(i))});
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    build.step(shape.nanoseconds / 2,
               {reads(shape.gradient_of(i)), writes(shape.weight_of(i)), writes(shape.optimizer_of(i))});
  }
  return build.done();
}

// Random steps and uses; some runs are fresh, some pinned, some recomputable: for contract suites.
inline Iteration random_iteration(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  IterationBuilder build;
  const std::uint32_t runs = 1 + below(24), steps = 1 + below(30);
  for (std::uint32_t i = 0; i < runs; ++i) {
    build.run(1_MiB * (1 + below(32)), RunClass(below(7)), Nanoseconds(below(3) == 0 ? below(900'000) : 0));
  }
  std::vector<bool> temporary(runs), seen(runs);
  for (std::uint32_t i = 0; i < runs; ++i) temporary[i] = below(2) == 0;
  for (std::uint32_t i = 0; i < steps; ++i) {
    std::vector<RunUse> uses;
    for (std::uint32_t run = 0; run < runs; ++run) {
      if (below(5) != 0) continue;
      const bool fresh = temporary[run] && !seen[run];
      seen[run] = true;
      uses.push_back({.run = run, .writes = fresh || below(4) == 0, .fresh = fresh});
    }
    build.step(1000 + below(2'000'000), uses);
  }
  Iteration iteration = build.done();
  for (IterationRun& run : iteration.runs) run.pinned = below(12) == 0;
  return iteration;
}

inline Bytes pinned_bytes(const Iteration& iteration) {
  Bytes bytes;
  for (const IterationRun& run : iteration.runs) bytes += run.pinned ? run.bytes : Bytes();
  return bytes;
}

inline Bytes all_bytes(const Iteration& iteration) {
  Bytes bytes;
  for (const IterationRun& run : iteration.runs) bytes += run.bytes;
  return bytes;
}

// A machine with equally fast links in both directions, and no file.
inline Machine machine_of(Bytes device, double rate) {
  return {.device = device, .host = 1_TiB, .out_rate = rate, .in_rate = rate};
}

// Offload intervals with copies: excludes the frees, which are in every plan.
inline OffloadPlan moves_of(const OffloadPlan& plan) {
  OffloadPlan moves;
  for (const OffloadInterval& interval : plan) {
    if (!interval.gap.dead) moves.push_back(interval);
  }
  return moves;
}

// Whether all offload intervals are gaps of the iteration, each at most once, and none of a pinned run.
inline bool are_own_gaps(const Iteration& iteration, const OffloadPlan& plan) {
  std::vector<Gap> left = find_gaps(iteration);
  return std::ranges::all_of(plan, [&](const OffloadInterval& interval) {
    const Gap& own = interval.gap;
    const auto found = std::ranges::find_if(left, [&own](const Gap& gap) {
      return gap.run == own.run && gap.after == own.after && gap.until == own.until && gap.wraps == own.wraps &&
             !gap.dead;
    });
    if (found == left.end() || iteration.runs[own.run].pinned) return false;
    left.erase(found);
    return true;
  });
}

}  // namespace tessera::test
