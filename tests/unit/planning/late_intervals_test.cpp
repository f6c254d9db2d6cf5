#include "planning/late_intervals.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

// Twenty steps of 100 ns. Run i is written in step i, is off the device until step 10 + i, and is requested a step
// earlier. Copying a run takes 250 ns.
class LateIntervalsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRuns = 4;

  LateIntervalsTest() {
    test::IterationBuilder build;
    for (std::uint32_t i = 0; i < kRuns; ++i) build.run(Bytes(250));
    for (std::uint32_t step = 0; step < 20; ++step) {
      std::vector<RunUse> uses;
      if (step < kRuns) uses.push_back(test::writes(step));
      if (step >= 10 && step < 10 + kRuns) uses.push_back(test::reads(step - 10));
      build.step(100, uses);
    }
    iteration_ = build.done();
    for (std::uint32_t i = kRuns; i-- > 0;) {  // out of order
      plan_.push_back({.gap = {.run = i, .after = i, .until = 10 + i}, .back_at = 9 + i});
    }
  }
  // The runs that are evicted, in order.
  std::vector<std::uint32_t> late(std::uint32_t step) const {
    std::vector<std::uint32_t> runs;
    for (const OffloadInterval& interval : late_intervals(iteration_, machine_, plan_, step))
      runs.push_back(interval.gap.run);
    return runs;
  }

  Iteration iteration_;
  OffloadPlan plan_;
  Machine machine_{.device = 1_KiB, .host = 1_KiB, .out_rate = 1e9, .in_rate = 1e9};
};

using Indices = std::vector<std::uint32_t>;  // into Iteration::runs

TEST_F(LateIntervalsTest, StartsOpenIntervalsInOrderOfTheirLastUses) {
  machine_.out_rate = 100e9;
  EXPECT_EQ(late(3), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(late(1), (Indices{0, 1})) << "the others are still to be used";
  EXPECT_EQ(late(9), (Indices{2, 3})) << "the first is called back, and the second with the next step";
  EXPECT_EQ(late(15), Indices());
}

TEST_F(LateIntervalsTest, SkipsARunWhoseCopyOutEndsAfterItsFetch) {
  // From step 4 on: run 0 is requested after 500 ns, run 1 after 600; their copies end after 250 and 500. Run 2 would
  // be done after 750 but is requested after 700; without it, run 3 with 800 is done after 750.
  EXPECT_EQ(late(3), (Indices{0, 1, 3}));
  EXPECT_EQ(late(8), Indices{3}) << "the only one with more than 200 ns";
  EXPECT_EQ(late(9), Indices());
}

TEST_F(LateIntervalsTest, DeadRunsNeedNoCopy) {
  plan_.front().gap.dead = true;
  machine_.out_rate = 100e9;
  EXPECT_EQ(late(3), (Indices{0, 1, 2}));
}

TEST_F(LateIntervalsTest, AnIntervalMayWrapAroundTheIteration) {
  plan_ = {{.gap = {.run = 0, .after = 10, .until = 0, .wraps = true}, .back_at = 19}};
  EXPECT_EQ(late(12), Indices{0});
  EXPECT_EQ(late(17), Indices());
  plan_.front().back_at = 0;  // only when it is needed
  EXPECT_EQ(late(17), Indices()) << "200 ns are left";
  EXPECT_EQ(late(16), Indices{0});
  EXPECT_EQ(late(0), Indices());
}

}  // namespace
}  // namespace tessera
