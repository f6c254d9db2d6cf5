// One suite for every plan: the guarantees of policy/policy.hpp for the plans that a policy offers, on random
// iterations.
//
// Instantiate it with INSTANTIATE_TYPED_TEST_SUITE_P(Name, PlanContract, YourPolicy); the policy is
// default-constructed.
//
// Thread safety: a test suite.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "planning/gap_time.hpp"
#include "planning/structure.hpp"
#include "policy/policy.hpp"
#include "strategies.hpp"

namespace tessera::contract {

template <class P>
class PlanContract : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kIterations = 80;

  static Machine machine_for(const Iteration& iteration, std::uint64_t seed) {
    const Bytes least = largest_step(iteration) + test::pinned_bytes(iteration);
    const Bytes most = std::max(least, test::all_bytes(iteration));
    Machine machine = test::machine_of(least + (most - least) / 4 * (seed % 5), 25e9);
    if (seed % 3 == 0) machine.file_read_rate = machine.file_write_rate = 3e9;
    if (seed % 7 == 0) machine.in_rate = 1e9;
    return machine;
  }

  // Visits each iteration with its machine ...
  template <class Visit>
  void for_many_iterations(Visit visit) {
    for (std::uint64_t seed = 0; seed < kIterations; ++seed) {
      SCOPED_TRACE(::testing::Message() << "iteration " << seed);
      const Iteration iteration = test::random_iteration(seed);
      visit(iteration, machine_for(iteration, seed));
      if (::testing::Test::HasFailure()) return;
    }
  }
  // ... and each plan for it.
  template <class Visit>
  void for_many(Visit visit) {
    for_many_iterations([&](const Iteration& iteration, const Machine& machine) {
      for (const Strategy& strategy : test::strategies_of(policy_, iteration, machine)) {
        SCOPED_TRACE(::testing::Message() << strategy.name);
        visit(iteration, machine, strategy.plan);
      }
    });
  }

  P policy_;
};

inline auto key_of(const Gap& gap) { return std::tuple(gap.run, gap.after, gap.until, gap.wraps, gap.dead); }

TYPED_TEST_SUITE_P(PlanContract);

TYPED_TEST_P(PlanContract, NamesOnlyGapsOfTheIterationAndNoneTwice) {
  this->for_many([](const Iteration& iteration, const Machine&, const OffloadPlan& plan) {
    std::set<decltype(key_of(Gap()))> gaps, seen;
    for (const Gap& gap : find_gaps(iteration)) gaps.insert(key_of(gap));
    for (const OffloadInterval& interval : plan) {
      EXPECT_TRUE(gaps.count(key_of(interval.gap)) != 0) << interval.gap.run;
      EXPECT_TRUE(seen.insert(key_of(interval.gap)).second) << interval.gap.run;
      EXPECT_NE(interval.to, Location::kDevice) << interval.gap.run;
    }
  });
}

TYPED_TEST_P(PlanContract, MovesNoPinnedRuns) {
  this->for_many([](const Iteration& iteration, const Machine&, const OffloadPlan& plan) {
    for (const OffloadInterval& interval : plan) EXPECT_FALSE(iteration.runs[interval.gap.run].pinned);
  });
}

TYPED_TEST_P(PlanContract, StartsTheFetchInsideTheGapOrAtItsEnd) {
  this->for_many([](const Iteration& iteration, const Machine& machine, const OffloadPlan& plan) {
    const GapTime time(iteration, machine);
    for (const OffloadInterval& interval : plan) {
      if (interval.back_at == interval.gap.until) continue;
      EXPECT_EQ(time.inside(interval.gap, interval.back_at), interval.back_at) << interval.gap.run;
    }
  });
}

TYPED_TEST_P(PlanContract, RecomputesOnlyWhatCanBeRecomputed) {
  this->for_many([](const Iteration& iteration, const Machine&, const OffloadPlan& plan) {
    for (const OffloadInterval& interval : plan) {
      if (interval.to != Location::kNowhere) continue;
      EXPECT_GT(iteration.runs[interval.gap.run].recompute, Nanoseconds()) << interval.gap.run;
    }
  });
}

TYPED_TEST_P(PlanContract, IsPossibleWheneverTheLargestStepFits) {
  this->for_many([](const Iteration& iteration, const Machine& machine, const OffloadPlan& plan) {
    EXPECT_TRUE(forecast(iteration, machine, plan).possible);
  });
}

TYPED_TEST_P(PlanContract, IsDeterministic) {
  this->for_many_iterations([this](const Iteration& iteration, const Machine& machine) {
    const std::vector<Strategy> once = test::strategies_of(this->policy_, iteration, machine);
    const std::vector<Strategy> again = test::strategies_of(this->policy_, iteration, machine);
    ASSERT_EQ(again.size(), once.size());
    for (std::size_t s = 0; s < once.size(); ++s) {
      const OffloadPlan &a = once[s].plan, &b = again[s].plan;
      EXPECT_EQ(again[s].name, once[s].name);
      ASSERT_EQ(b.size(), a.size()) << once[s].name;
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(key_of(b[i].gap), key_of(a[i].gap));
        EXPECT_EQ(b[i].back_at, a[i].back_at);
        EXPECT_EQ(b[i].to, a[i].to);
        EXPECT_EQ(b[i].part, a[i].part);
      }
    }
  });
}

TYPED_TEST_P(PlanContract, CopesWithAnIterationWithoutUses) {
  test::IterationBuilder build;
  build.step(1000, {});
  for (const Iteration& iteration : {build.done(), Iteration()}) {
    for (const Strategy& strategy : test::strategies_of(this->policy_, iteration, test::machine_of(1_GiB, 25e9))) {
      EXPECT_TRUE(strategy.plan.empty()) << strategy.name;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(PlanContract, NamesOnlyGapsOfTheIterationAndNoneTwice, MovesNoPinnedRuns,
                            StartsTheFetchInsideTheGapOrAtItsEnd, RecomputesOnlyWhatCanBeRecomputed,
                            IsPossibleWheneverTheLargestStepFits, IsDeterministic, CopesWithAnIterationWithoutUses);

}  // namespace tessera::contract
