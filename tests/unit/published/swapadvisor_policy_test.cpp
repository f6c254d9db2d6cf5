#include "lab/published/swapadvisor_policy.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "lab/published/object_walk.hpp"
#include "planning/forecast.hpp"

namespace tessera {
namespace {

// Runs of three sizes, so that there are trade-offs.
Iteration mixed() {
  test::IterationBuilder build;
  constexpr std::uint32_t n = 15;
  for (std::uint32_t i = 0; i < n; ++i) build.run(4_MiB * (std::uint64_t{1} << (i % 3)));
  for (std::uint32_t i = 0; i < n; ++i) build.step(1'000'000, {test::makes(i)});
  for (std::uint32_t i = n; i-- > 0;) build.step(1'500'000, {test::reads(i)});
  return build.done();
}

TEST(SwapadvisorPolicy, IsNeverWorseThanItsSeedAndSometimesBetter) {
  bool better = false;
  for (const std::uint64_t device : {40u, 60u, 80u, 100u}) {
    for (const double rate : {5e9, 25e9}) {
      const Machine machine = test::machine_of(1_MiB * device, rate);
      const Iteration iteration = mixed();
      const ObjectWalk walk(iteration, machine);
      const Forecast seed = forecast(iteration, machine, walk.plan(walk.even_counts()));
      const Forecast bred = forecast(iteration, machine, SwapadvisorPolicy().plan(iteration, machine));
      EXPECT_LE(bred.makespan, seed.makespan) << device << " " << rate;
      better |= bred.makespan < seed.makespan;
    }
  }
  EXPECT_TRUE(better);
}

TEST(SwapadvisorPolicy, TheSameSeedGivesTheSamePlan) {
  const Machine machine = test::machine_of(60_MiB, 5e9);
  const OffloadPlan one = SwapadvisorPolicy(7).plan(mixed(), machine);
  const OffloadPlan other = SwapadvisorPolicy(7).plan(mixed(), machine);
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].gap.run, other[i].gap.run);
    EXPECT_EQ(one[i].back_at, other[i].back_at);
  }
}

}  // namespace
}  // namespace tessera
