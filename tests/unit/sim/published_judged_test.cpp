// Published policies that search: their choice is simulated on the engine and compared with their starting point.
#include <gtest/gtest.h>

#include "iterations.hpp"
#include "lab/published/object_walk.hpp"
#include "lab/published/swapadvisor_policy.hpp"
#include "sim/plan_simulator.hpp"
#include "sim/simulated_engine.hpp"

namespace tessera::test {
namespace {

// Three sizes, so that there are trade-offs: made in sequence, read in reverse order.
Iteration of_three_sizes(std::uint32_t runs) {
  IterationBuilder build;
  for (std::uint32_t i = 0; i < runs; ++i) build.run(32_MiB * (std::uint64_t{1} << (i % 3)));
  for (std::uint32_t i = 0; i < runs; ++i) build.step(4'000'000, {makes(i)});
  for (std::uint32_t i = runs; i-- > 0;) build.step(6'000'000, {reads(i)});
  return build.done();
}

Nanoseconds on_the_engine(const Iteration& iteration, const Machine& machine, const Strategy& strategy,
                          const Policy& policy) {
  const std::atomic<Nanoseconds> enough{Nanoseconds(~std::uint64_t{0})};
  const std::atomic<bool> stop{false};
  const Simulated played = simulate_plan(iteration, machine, strategy, policy, enough, stop);
  EXPECT_TRUE(played.time.is_ok()) << played.time.status().to_string();
  return played.time.is_ok() ? played.time.value() : Nanoseconds();
}

// The strategy that the engine would follow.
Strategy chosen_by(const Policy& policy, const Iteration& iteration, const Machine& machine) {
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  simulation.ask(iteration, machine);
  std::vector<Candidate> candidates = simulation.answer();
  EXPECT_FALSE(candidates.empty());
  return candidates.empty() ? Strategy{"", {}, &policy} : std::move(candidates.front().strategy);
}

TEST(PublishedJudged, SwapadvisorIsNeverWorseThanItsSeedOnTheEngineAndSometimesBetter) {
  const SwapadvisorPolicy policy;
  bool better = false;
  for (const std::uint32_t runs : {9u, 15u}) {
    for (const std::uint64_t percent : {45u, 60u, 80u}) {
      for (const double rate : {4e9, 12e9, 25e9}) {
        const Iteration iteration = of_three_sizes(runs);
        const Machine machine = machine_of(all_bytes(iteration) * percent / 100, rate);
        const ObjectWalk walk(iteration, machine);
        const Nanoseconds seed =
            on_the_engine(iteration, machine, {"seed", walk.plan(walk.even_counts()), &policy}, policy);
        const Nanoseconds bred = on_the_engine(iteration, machine, chosen_by(policy, iteration, machine), policy);
        EXPECT_LE(bred, seed) << runs << " " << percent << " " << rate;
        better |= bred < seed;
      }
    }
  }
  EXPECT_TRUE(better);
}

}  // namespace
}  // namespace tessera::test
