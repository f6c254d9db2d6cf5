#include "iterations.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/page_class.hpp"

namespace tessera::bench {
namespace {

constexpr std::uint64_t kMemoryRate = 2'000;  // bytes per nanosecond
constexpr Nanoseconds kLaunch{2'000};

class Maker {
 public:
  std::uint32_t run(Bytes bytes) {
    iteration_.runs.push_back({.bytes = bytes});
    return static_cast<std::uint32_t>(iteration_.runs.size() - 1);
  }
  // A step takes as long as reading all runs that it uses.
  void step(std::initializer_list<RunUse> uses) { step(std::vector<RunUse>(uses)); }
  void step(const std::vector<RunUse>& uses) {
    const auto first = static_cast<std::uint32_t>(iteration_.uses.size());
    Nanoseconds time = kLaunch;
    for (const RunUse& use : uses) {
      time += Nanoseconds(iteration_.runs[use.run].bytes.value() / kMemoryRate);
      iteration_.uses.push_back(use);
    }
    const auto end = static_cast<std::uint32_t>(iteration_.uses.size());
    iteration_.steps.push_back({.duration = time, .first_use = first, .end_use = end});
  }
  // The newest step allocates a small block and frees that of the step before; both are in one page.
  void make_small_block() {
    SmallRuns& small = iteration_.small;
    small.runs.assign(1, {.bytes = kBasePage});
    small.uses.push_back({.run = 0, .writes = true});
    small.ends.resize(iteration_.steps.size(), static_cast<std::uint32_t>(small.uses.size()));
  }
  Iteration take() { return std::move(iteration_); }

 private:
  Iteration iteration_;
};

}  // namespace

Iteration decoder_iteration(std::uint32_t positions) {
  constexpr std::uint32_t kLayers = 16, kBlock = 256, kPrompt = 2;  // cache blocks
  Maker maker;
  std::vector<std::uint32_t> layers;
  for (std::uint32_t i = 0; i < kLayers; ++i) layers.push_back(maker.run(116_MiB));
  const std::uint32_t words = maker.run(502_MiB);
  std::vector<std::vector<std::uint32_t>> cache(kLayers);
  for (std::uint32_t position = 0; position < positions; ++position) {
    maker.step({{.run = words}});
    maker.make_small_block();
    for (std::uint32_t i = 0; i < kLayers; ++i) {
      std::vector<RunUse> uses = {{.run = layers[i]}};
      for (const std::uint32_t block : cache[i]) uses.push_back({.run = block});
      if (!cache[i].empty()) uses.back().writes = true;  // stores the key and value of this position
      for (std::uint32_t more = position == 0 ? kPrompt : position % kBlock == 0 ? 1 : 0; more > 0; --more) {
        cache[i].push_back(maker.run(32_MiB));
        uses.push_back({.run = cache[i].back(), .writes = true, .fresh = true});
      }
      maker.step(uses);
      maker.make_small_block();
    }
    maker.step({{.run = words}});
    maker.make_small_block();
  }
  return maker.take();
}

Iteration training_iteration(std::uint32_t layers) {
  constexpr std::uint32_t kOperations = 12;
  Maker maker;
  std::vector<std::uint32_t> weights, gradients, moments;
  for (std::uint32_t i = 0; i < layers; ++i) {
    weights.push_back(maker.run(48_MiB));
    gradients.push_back(maker.run(48_MiB));
    moments.push_back(maker.run(96_MiB));
  }
  std::uint32_t before = maker.run(64_MiB);
  std::vector<std::uint32_t> made = {before};
  for (std::uint32_t i = 0; i < layers * kOperations; ++i) {
    made.push_back(maker.run(64_MiB));
    maker.step(
        {{.run = before}, {.run = weights[i / kOperations]}, {.run = made.back(), .writes = true, .fresh = true}});
    before = made.back();
  }
  for (std::uint32_t i = layers * kOperations; i-- > 0;) {
    const std::uint32_t layer = i / kOperations, way_back = maker.run(64_MiB);
    maker.step({{.run = before}, {.run = weights[layer]}, {.run = way_back, .writes = true, .fresh = true}});
    maker.step({{.run = made[i]}, {.run = before}, {.run = gradients[layer], .writes = true}});
    before = way_back;
  }
  for (std::uint32_t i = 0; i < layers; ++i) {
    maker.step({{.run = weights[i], .writes = true}, {.run = gradients[i]}, {.run = moments[i], .writes = true}});
  }
  return maker.take();
}

Bytes live_peak(const Iteration& iteration) {
  std::vector<bool> made(iteration.runs.size());
  for (const RunUse& use : iteration.uses) made[use.run] = made[use.run] || use.fresh;
  Bytes live, peak;
  for (std::size_t i = 0; i < made.size(); ++i) live += made[i] ? Bytes() : iteration.runs[i].bytes;
  const auto frees = frees_by_step(iteration);
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (const RunUse& use : iteration.uses_of(step)) {
      if (use.fresh) live += iteration.runs[use.run].bytes;
    }
    peak = std::max(peak, live);
    for (const std::uint32_t run : frees[step]) live -= iteration.runs[run].bytes;
  }
  return peak;
}

std::size_t events_of(const Iteration& iteration) {
  std::size_t events = iteration.steps.size() + 2 * iteration.small.uses.size();
  for (const RunUse& use : iteration.uses) events += use.fresh ? 1 : 0;
  for (const auto& freed : frees_by_step(iteration)) events += freed.size();
  return events;
}

}  // namespace tessera::bench
