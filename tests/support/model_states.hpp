// Model states of mixed precision training with Adam, per parameter, as in ZeRO's formulas, and an iteration that uses
// them.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "iterations.hpp"

namespace tessera::test {

// Parameter counts of t5-small's modules in the order of use; its single embedding table comes first.
inline std::vector<std::uint64_t> t5_small() {
  constexpr std::uint64_t kWidth = 512, kInner = 2048, kPlaces = 32 * 8;
  std::vector<std::uint64_t> modules{32128 * kWidth};
  for (const int attentions : {1, 2}) {
    modules.push_back(kPlaces);
    for (int layer = 0; layer < 6; ++layer) {
      for (int i = 0; i < attentions; ++i) {
        modules.push_back(kWidth);
        modules.insert(modules.end(), 4, kWidth * kWidth);
      }
      modules.insert(modules.end(), {kWidth, kWidth * kInner, kInner * kWidth});
    }
    modules.push_back(kWidth);
  }
  return modules;
}

// Per parameter: a weight and a gradient of 2 bytes each; a master copy and two moments of 4 bytes each.
struct ModelStates {
  std::vector<std::uint64_t> modules;

  std::uint32_t count() const { return static_cast<std::uint32_t>(modules.size()); }
  std::uint64_t parameters() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t module : modules) sum += module;
    return sum;
  }
  std::uint64_t largest() const { return *std::max_element(modules.begin(), modules.end()); }
  // Number of forward and backward steps, before the update.
  std::uint32_t ways() const { return 2 * count() + 2; }

  // Weights, gradients, optimizer states. The first module, the embedding table, is used at both ends.
  Iteration made() const {
    IterationBuilder build;
    const std::uint32_t n = count();
    for (const std::uint64_t module : modules) build.run(Bytes(2 * module), RunClass::kWeight);
    for (const std::uint64_t module : modules) build.run(Bytes(2 * module), RunClass::kGradient);
    for (const std::uint64_t module : modules) build.run(Bytes(12 * module), RunClass::kOptimizer);
    for (std::uint32_t i = 0; i < n; ++i) build.step(1'000'000, {reads(i)});
    build.step(1'000'000, {reads(0)});
    build.step(1'000'000, {reads(0), makes(n)});
    for (std::uint32_t i = n; i-- > 0;) build.step(1'000'000, {reads(i), i == 0 ? writes(n) : makes(n + i)});
    build.step(1'000'000, {});  // here the update's first states are fetched
    for (std::uint32_t i = 0; i < n; ++i) build.step(1'000'000, {writes(i), reads(n + i), writes(2 * n + i)});
    return build.done();
  }
};

// Bytes that a plan leaves on the device in a step, if copies take no time.
inline Bytes stays_in(const Iteration& iteration, const OffloadPlan& plan, std::uint32_t step) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  const auto place_in = [count](const Gap& gap, std::uint32_t other) {
    return (other + count - gap.after - 1) % count;
  };
  Bytes bytes;
  for (const IterationRun& run : iteration.runs) bytes += run.bytes;
  for (const OffloadInterval& interval : plan) {
    const bool is_away = place_in(interval.gap, step) < place_in(interval.gap, interval.back_at);
    if (is_away) bytes -= std::min(interval.part, iteration.runs[interval.gap.run].bytes);
  }
  return bytes;
}

// The maximum of these in the forward and backward passes.
inline Bytes stays_in_the_ways(const ModelStates& states, const Iteration& iteration, const OffloadPlan& plan) {
  Bytes most;
  for (std::uint32_t step = 0; step < states.ways(); ++step) most = std::max(most, stays_in(iteration, plan, step));
  return most;
}

}  // namespace tessera::test
