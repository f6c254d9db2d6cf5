#include "planning/iteration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "iterations.hpp"

#include "base/page_class.hpp"

namespace tessera {
namespace {

// Runs 0, 1 and 2; run 2 is used once, run 1 is reallocated in each iteration.
Iteration make_iteration() {
  Iteration iteration;
  iteration.runs.resize(3);
  iteration.uses = {{.run = 0},
                    {.run = 1, .writes = true, .fresh = true},  // step 0
                    {.run = 2},                                 // step 1
                    {.run = 1},
                    {.run = 0}};  // step 2
  iteration.steps = {{.first_use = 0, .end_use = 2}, {.first_use = 2, .end_use = 3}, {.first_use = 3, .end_use = 5}};
  return iteration;
}

TEST(Iteration, TakesAtLeastAsLongAsItsLongestStream) {
  Iteration iteration = test::stack(3, 8_MiB, 10);
  EXPECT_EQ(computing_time(iteration), Nanoseconds(60));
  for (std::size_t i = 0; i < 2; ++i) iteration.steps[i].stream = 1;
  EXPECT_EQ(computing_time(iteration), Nanoseconds(40));
}

TEST(Iteration, HasAGapBetweenEachTwoUsesOfARun) {
  const std::vector<Gap> gaps = find_gaps(make_iteration());
  ASSERT_EQ(gaps.size(), 5u);
  EXPECT_EQ(gaps[0].run, 0u);
  EXPECT_EQ(gaps[0].after, 0u);
  EXPECT_EQ(gaps[0].until, 2u);
  EXPECT_FALSE(gaps[0].wraps);
  EXPECT_EQ(gaps[1].after, 2u);
  EXPECT_EQ(gaps[1].until, 0u);
  EXPECT_TRUE(gaps[1].wraps);
  EXPECT_FALSE(gaps[1].dead);
}

TEST(Iteration, AGapBeforeAReallocationIsDead) {
  const std::vector<Gap> gaps = find_gaps(make_iteration());
  EXPECT_FALSE(gaps[2].dead);  // run 1, step 0 to 2
  EXPECT_TRUE(gaps[3].dead);   // run 1, step 2 to the next iteration
}

TEST(Iteration, TakesARunThatIsUsedOnceAroundToItself) {
  const std::vector<Gap> gaps = find_gaps(make_iteration());
  EXPECT_EQ(gaps[4].run, 2u);
  EXPECT_EQ(gaps[4].after, 1u);
  EXPECT_EQ(gaps[4].until, 1u);
  EXPECT_TRUE(gaps[4].wraps);
}

TEST(Iteration, ReportsNextUseDistances) {
  EXPECT_EQ(next_use_distances(make_iteration()), (std::vector<std::uint32_t>{2, 2, 3, 1, 1}));
}

TEST(Iteration, ReportsLastUsesBeforeReallocation) {
  EXPECT_EQ(last_uses_before_fresh(make_iteration()), (std::vector<bool>{false, false, false, true, false}));
}

TEST(Iteration, IsEqualWhenRotated) {
  Iteration iteration = make_iteration();
  for (std::uint32_t step = 0; step < 3; ++step) iteration.steps[step].duration = Nanoseconds(step + 1);
  iteration.small.runs.resize(2);
  iteration.small.uses = {{.run = 0}, {.run = 1}, {.run = 0}};
  iteration.small.ends = {1, 1, 3};
  const Iteration begun = begun_at(iteration, 2);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::uint32_t was = (step + 2) % 3;
    EXPECT_EQ(begun.steps[step].duration, iteration.steps[was].duration);
    ASSERT_EQ(begun.uses_of(step).size(), iteration.uses_of(was).size());
    for (std::size_t i = 0; i < begun.uses_of(step).size(); ++i) {
      EXPECT_EQ(begun.uses_of(step)[i].run, iteration.uses_of(was)[i].run);
      EXPECT_EQ(begun.uses_of(step)[i].fresh, iteration.uses_of(was)[i].fresh);
    }
  }
  EXPECT_EQ(begun.small.ends, (std::vector<std::uint32_t>{2, 3, 3}));
  EXPECT_EQ(begun.small.uses[0].run, 1u);
  EXPECT_EQ(begun.small.uses[2].run, 0u);
  const std::vector<Gap> before = find_gaps(iteration), after = find_gaps(begun);
  ASSERT_EQ(after.size(), before.size());
  const auto wraps = [](const Gap& gap) { return gap.run == 0 && gap.wraps; };
  EXPECT_EQ(std::ranges::count_if(after, wraps), 1);
  EXPECT_EQ(std::ranges::find_if(after, wraps)->after, 1u) << "behind the use in what was step 0";
}

TEST(Iteration, HasSmallRunsBehindTheOthersWhereTheyCount) {
  Iteration iteration = make_iteration();
  iteration.small.runs = {{.bytes = kBasePage}};
  iteration.small.uses = {{.run = 0, .writes = true}, {.run = 0}};
  iteration.small.ends.assign(iteration.steps.size(), 2);
  iteration.small.ends.front() = 1;
  const Iteration all = with_small_runs(iteration);
  ASSERT_EQ(all.runs.size(), iteration.runs.size() + 1);
  for (std::uint32_t step = 0; step < all.steps.size(); ++step) {
    const std::size_t small = step < 2 ? 1 : 0;
    ASSERT_EQ(all.uses_of(step).size(), iteration.uses_of(step).size() + small);
    if (small == 0) continue;
    EXPECT_EQ(all.uses_of(step).back().run, iteration.runs.size());
    EXPECT_EQ(all.uses_of(step).back().writes, step == 0);
  }
}

TEST(Iteration, OmitsAnUnusedRun) {
  Iteration iteration = make_iteration();
  iteration.runs.resize(4);
  EXPECT_EQ(find_gaps(iteration).size(), 5u);
}

TEST(Iteration, FreesFollowTheLastUse) {
  test::IterationBuilder build;
  for (int i = 0; i < 3; ++i) build.run(Bytes(100));
  build.step(100, {test::makes(0), test::reads(2)});
  build.step(100, {test::reads(0)});
  build.step(100, {test::makes(1)});
  Iteration iteration = build.done();
  using Frees = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(frees_by_step(iteration), (Frees{{}, {0}, {1}}));
  iteration.runs[0].lingers = 1;
  iteration.runs[1].lingers = 1;  // into the next iteration
  EXPECT_EQ(frees_by_step(iteration), (Frees{{1}, {}, {0}}));
}

TEST(Iteration, CanBeSeenAsIfNoBlockLingered) {
  Iteration iteration = make_iteration();
  EXPECT_FALSE(freed_at_once(iteration));
  iteration.runs[1].lingers = 1;
  const std::optional<Iteration> freed = freed_at_once(iteration);
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->runs[1].lingers, 0u);
  EXPECT_EQ(freed->uses.size(), iteration.uses.size());
}

TEST(Iteration, ReportsRunsLiveAfterAStep) {
  Iteration iteration = make_iteration();
  using Live = std::vector<bool>;
  const auto behind = [&](std::uint32_t step) { return live_behind(iteration, frees_by_step(iteration), step); };
  EXPECT_EQ(behind(0), (Live{true, true, true}));
  EXPECT_EQ(behind(1), (Live{true, true, true}));
  EXPECT_EQ(behind(2), (Live{true, false, true}));  // run 1 is freed after its last use
  iteration.runs.push_back({});                     // an unused run
  iteration.runs[1].lingers = 2;                    // counts only for a run that is reallocated
  iteration.uses[1].fresh = false;
  iteration.uses[2].fresh = true;  // run 2 is reallocated instead
  EXPECT_EQ(behind(0), (Live{true, true, false, false}));
  EXPECT_EQ(behind(1), (Live{true, true, false, false}));
  iteration.runs[2].lingers = 1;
  EXPECT_EQ(behind(1), (Live{true, true, true, false}));
  EXPECT_EQ(behind(2), (Live{true, true, false, false}));
}

}  // namespace
}  // namespace tessera
