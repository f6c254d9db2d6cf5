// Iterations that return with other sizes: seen through the tracker that follows them.
#include "residency/iteration/scaled_iteration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::EveryGap;
using test::IterationTrackerTest;

class QuickGaps final : public Policy {
 public:
  std::string_view name() const override { return "quick-gaps"; }
  Decision decide(const Snapshot&) const override { return {}; }
  OffloadPlan plan(const Iteration& iteration, const Machine& machine) const override {
    return gaps.plan(iteration, machine);
  }
  bool has_quick_strategy() const override { return true; }
  std::optional<Strategy> quick_strategy(const Iteration& iteration, const Machine& machine) const override {
    ++plans;
    return Strategy{"quick", plan(iteration, machine), this, false};
  }
  EveryGap gaps;
  mutable std::size_t plans = 0;
};

// Each pass makes kStages activations, uses them in the opposite order, and updates a state that stays.
class ScaledIterationTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kStages = 40, kSteps = 2 * kStages + 1;
  static constexpr std::uint32_t kUnseen[] = {7, 20, 45};

  ScaledIterationTest() {
    for (std::uint32_t scale = 4; scale <= 40; ++scale) {
      if (std::ranges::find(kUnseen, scale) == std::end(kUnseen)) scales_.push_back(scale);
    }
    std::ranges::shuffle(scales_, random_);
    tracker_.set_policy(quick_, quick_planner_);
    tracker_.set_machine({.device = 64_MiB});
    state_->fresh = false;
  }

  static RunShape shape_of(std::size_t stage, std::uint32_t scale) {
    return {0, stage % 4 == 0 ? 2 * scale : stage % 4 == 1 ? 3 : scale};
  }
  DeviceRun* make_fresh(RunShape shape) {
    DeviceRun* const run = make_run(shape);
    return run;
  }
  void pass(std::uint32_t scale) {
    pass_of([&](std::size_t stage) { return shape_of(stage, scale); });
  }
  template <class ShapeOf>
  void pass_of(ShapeOf shape_of_stage) {
    activations_.clear();
    for (std::size_t i = 0; i < kStages; ++i) {
      activations_.push_back(make_fresh(shape_of_stage(i)));
      launch(works_[i], activations_.back(), true);
    }
    for (std::size_t i = kStages; i-- > 0;) launch(works_[2 * kStages - 1 - i], activations_[i], false);
    launch(works_[2 * kStages], state_, true);
  }
  // No size comes twice: none of them is learned by its sizes.
  void passes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pass(scales_[played_++]);
  }
  bool has_left(const DeviceRun* run) const {
    return std::ranges::any_of(left_, [&](const auto& order) { return order.run == run; });
  }

  QuickGaps quick_;
  FirstStrategy quick_planner_{quick_};
  DeviceRun* state_ = make_run({0, 4});
  std::vector<DeviceRun*> activations_;
  std::mt19937 random_{1};
  std::vector<std::uint32_t> scales_;  // in a random order, without kUnseen
  std::size_t played_ = 0;
};

TEST_F(ScaledIterationTest, PlansForTheSizesOfThisPass) {
  passes(10);
  forget_orders();
  for (const std::uint32_t scale : kUnseen) {  // the last is beyond all that were seen
    pass(scale);
    EXPECT_TRUE(tracker_.has_active_plan());
    const Iteration& seen = quick_.gaps.seen;
    ASSERT_EQ(seen.steps.size(), kSteps);
    for (std::uint32_t step = 0; step < kStages; ++step) {
      ASSERT_EQ(seen.uses_of(step).size(), 1u);
      EXPECT_EQ(seen.runs[seen.uses_of(step)[0].run].bytes, shape_of(step, scale).bytes()) << step << " at " << scale;
    }
    // All but the last were evicted before they were used again, and fetched.
    for (std::size_t i = 0; i + 1 < kStages; ++i) {
      EXPECT_TRUE(has_left(activations_[i])) << i;
      EXPECT_NE(std::ranges::count(came_, activations_[i]), 0) << i;
    }
  }
}

TEST_F(ScaledIterationTest, SizesVaryUntilAPassHasRepeatedForLong) {
  EXPECT_FALSE(tracker_.sizes_vary());
  passes(10);
  EXPECT_TRUE(tracker_.sizes_vary());
  for (int i = 0; i < 4; ++i) pass(20);
  EXPECT_TRUE(tracker_.sizes_vary());
  for (int i = 0; i < 8; ++i) pass(20);
  EXPECT_FALSE(tracker_.sizes_vary());
}

TEST_F(ScaledIterationTest, PlansOncePerPass) {
  passes(10);
  const std::size_t before = quick_.plans;
  passes(3);
  EXPECT_EQ(quick_.plans, before + 3);
}

// What is away across the beginning of a pass may be needed there if the pass is small.
TEST_F(ScaledIterationTest, WaitsForTheSizeOfTheNextPassUnlessAllHaveItAway) {
  passes(2 + 8);
  forget_orders();
  passes(1);
  EXPECT_TRUE(has_left(state_));  // behind the first launch of the pass
  EXPECT_EQ(left_.back().run == state_, false);
  passes(ScaledIteration::kAwayPasses);
  forget_orders();
  passes(1);
  ASSERT_TRUE(has_left(state_));
  EXPECT_EQ(left_.back().run, state_);  // behind its use at the end
}

// In large passes another run is the largest, so that it tells the scale from then on, also in the next pass.
TEST_F(ScaledIterationTest, AScaleIsThatOfTheRunThatTellsIt) {
  const auto shape = [](std::size_t stage, std::uint32_t scale) {
    return RunShape{0, stage % 2 == 0 ? 3 * scale : 1 + scale * scale / 16};
  };
  std::size_t planned = 0;
  for (const std::uint32_t scale :
       {8U, 12U, 9U, 14U, 11U, 10U, 13U, 15U, 16U, 7U, 80U, 18U, 10U, 20U, 40U, 22U, 12U, 30U}) {
    const std::size_t before = quick_.plans;
    pass_of([&](std::size_t stage) { return shape(stage, scale); });
    if (quick_.plans == before) continue;
    ++planned;
    const Iteration& seen = quick_.gaps.seen;
    const Bytes actual = shape(0, scale).bytes(), expected = seen.runs[seen.uses_of(0)[0].run].bytes;
    EXPECT_LT(expected.value(), actual.value() * 3 / 2) << scale;
    EXPECT_GT(expected.value() * 3 / 2, actual.value()) << scale;
  }
  EXPECT_GE(planned, 6u);
}

// The launches at the end are alike in all passes, and those of an iteration that was learned in one size.
TEST_F(ScaledIterationTest, AnIterationOfAnotherSizeDoesNotTakeOverInTheCommonPart) {
  std::vector<DeviceRun*> states;
  for (int i = 0; i < 30; ++i) {
    states.push_back(make_run({0, 3}));
    states.back()->fresh = false;
  }
  // Whether a state was evicted behind its use.
  const auto evicts = [&](std::uint32_t scale) {
    pass(scale);
    forget_orders();
    const Epoch begin = epoch_;
    for (std::size_t i = 0; i < states.size(); ++i) launch(works_[kSteps + i], states[i], true);
    return std::ranges::any_of(left_, [&](const auto& order) { return order.used > begin; });
  };
  for (const std::uint32_t scale : {8U, 20U, 12U, 16U}) EXPECT_FALSE(evicts(scale));
  bool learned = false;
  for (int i = 0; i < 4; ++i) learned = evicts(30);
  EXPECT_TRUE(learned);  // it begins with all states away
  for (const std::uint32_t scale : {10U, 18U, 14U}) EXPECT_FALSE(evicts(scale)) << scale;
}

// Sizes that one scale does not tell, as those of sampled graphs.
TEST_F(ScaledIterationTest, MakesNoPlanForSizesThatItCannotExpect) {
  std::size_t planned = 0;
  for (int i = 0; i < 30; ++i) {
    pass_of([&](std::size_t) { return RunShape{0, 2 + static_cast<std::uint32_t>(random_() % 30)}; });
    planned += tracker_.has_active_plan() ? 1 : 0;
  }
  EXPECT_EQ(planned, 0u);
  EXPECT_EQ(quick_.plans, 0u);
}

// Work of other kinds goes on for so long that it is no part of the pass.
TEST_F(ScaledIterationTest, IsFoundAgainAfterSomethingElse) {
  passes(10);
  for (std::size_t i = 0; i < 60; ++i) launch(works_[200 + i], make_fresh({0, 2}), false);
  EXPECT_FALSE(tracker_.has_active_plan());
  const std::size_t before = quick_.plans;
  passes(2);
  EXPECT_TRUE(tracker_.has_active_plan());
  EXPECT_GT(quick_.plans, before);
}

// Where it ends the program seems to be in the iteration that was learned before, which it left each time.
TEST_F(ScaledIterationTest, AnIterationThatDoesNotHoldIsLearnedAgain) {
  constexpr std::size_t kMore = 60;
  passes(10);
  DeviceRun* const others[] = {make_run({0, 2}), make_run({0, 2})};
  for (std::size_t i = 0; i < 10; ++i) launch(works_[300 + i], others, false);
  for (int i = 0; i < 12; ++i) {
    const std::uint32_t scale = scales_[played_ - 1];  // a pass ends behind these launches
    for (std::size_t more = 0; more < kMore; ++more) launch(works_[200 + more], make_fresh({0, scale}), false);
    passes(1);
  }
  EXPECT_EQ(quick_.gaps.seen.steps.size(), kMore + kSteps);
  EXPECT_TRUE(tracker_.has_active_plan());
}

TEST_F(ScaledIterationTest, AnotherRunTakesTheRoleOfOneThatIsGone) {
  passes(12);
  tracker_.forget(*state_);
  state_ = make_run({0, 4});
  state_->fresh = false;
  passes(2);
  forget_orders();
  passes(1);
  EXPECT_TRUE(has_left(state_));
}

// Each stage has a weight, which tells the launches of one stage from those of the others.
class ScaledLayersTest : public ScaledIterationTest {
 protected:
  ScaledLayersTest() {
    for (std::size_t i = 0; i <= kStages; ++i) weights_.push_back(make_run({0, 2}));
    for (DeviceRun* const weight : weights_) weight->fresh = false;
  }
  void use(const char& work, DeviceRun* weight, DeviceRun* activation, bool writes, DeviceRun* workspace = nullptr) {
    DeviceRun* const runs[] = {weight, activation, workspace};
    launch(work, std::span(runs).first(workspace == nullptr ? 2 : 3), writes);
  }
  // That which the last plan expects of the activations.
  std::vector<Bytes> expected() const {
    std::vector<Bytes> bytes;
    for (const RunUse& use : quick_.gaps.seen.uses) {
      if (use.fresh) bytes.push_back(quick_.gaps.seen.runs[use.run].bytes);
    }
    return bytes;
  }
  static std::vector<Bytes> actual(std::uint32_t scale) {
    std::vector<Bytes> bytes;
    for (std::size_t i = 0; i < kStages; ++i) bytes.push_back(shape_of(i, scale).bytes());
    return bytes;
  }

  std::vector<DeviceRun*> weights_;  // the last one is the workspace of a library
};

// With three kernels for each launch, some of which use a workspace, and sums that two of them share at some sizes.
TEST_F(ScaledLayersTest, KernelsAreChosenBySize) {
  const auto pass_of_kernels = [&](std::uint32_t scale) {
    const auto kernel = [&](std::size_t i) -> const char& { return works_[100 * (scale % 3) + i]; };
    const auto share = [&](std::size_t i, bool if_so) {
      if (if_so) launch(kernel(90 + i % 2), weights_.back(), true);
    };
    activations_.clear();
    for (std::size_t i = 0; i < kStages; ++i) {
      activations_.push_back(make_fresh(shape_of(i, scale)));
      use(kernel(i), weights_[i], activations_.back(), true);
      share(i, scale < 16 && i % 3 == 0);
    }
    for (std::size_t i = kStages; i-- > 0;) {
      use(kernel(kStages + i), weights_[i], activations_[i], false,
          scale % 3 == 1 && i % 2 == 0 ? weights_.back() : nullptr);
      share(i, scale > 24 && i % 4 == 0);
    }
    launch(kernel(2 * kStages), state_, true);
  };
  for (const std::uint32_t scale : {10U, 12U, 30U, 18U, 20U, 26U, 8U, 22U, 14U, 36U, 5U}) pass_of_kernels(scale);
  for (const std::uint32_t scale : kUnseen) {
    const std::size_t before = quick_.plans;
    forget_orders();
    pass_of_kernels(scale);
    EXPECT_EQ(quick_.plans, before + 1);
    EXPECT_EQ(expected(), actual(scale)) << scale;
    for (std::size_t i = 0; i + 1 < kStages; ++i) EXPECT_TRUE(has_left(activations_[i])) << i << " of " << scale;
  }
}

// What was due in layers that are skipped is done behind them, and such a pass tells nothing of the sizes of others.
TEST_F(ScaledLayersTest, LayersMayBeSkipped) {
  constexpr std::size_t kFirst = 25, kEnd = 32;  // of those that are skipped
  const auto pass_without = [&](std::size_t first, std::size_t end, std::uint32_t scale) {
    activations_.assign(kStages, nullptr);
    for (std::size_t i = 0; i < kStages; ++i) {
      if (i >= first && i < end) continue;
      activations_[i] = make_fresh(shape_of(i, scale));
      use(works_[i], weights_[i], activations_[i], true);
    }
    for (std::size_t i = kStages; i-- > 0;) {
      if (activations_[i] != nullptr) use(works_[kStages + i], weights_[i], activations_[i], false);
    }
    launch(works_[2 * kStages], state_, true);
  };
  for (std::size_t i = 0; i < 10; ++i) pass_without(0, 0, scales_[i]);
  for (std::size_t i = 10; i < 13; ++i) {
    forget_orders();
    pass_without(kFirst, kEnd, scales_[i]);
    EXPECT_TRUE(tracker_.has_active_plan());
    for (std::size_t stage = 0; stage < kStages - 1; ++stage) {
      if (activations_[stage] == nullptr) continue;
      EXPECT_TRUE(has_left(activations_[stage])) << stage;
      EXPECT_NE(std::ranges::count(came_, activations_[stage]), 0) << stage;
    }
  }
  for (const std::uint32_t scale : kUnseen) {
    pass_without(0, 0, scale);
    EXPECT_EQ(expected(), actual(scale)) << scale;
  }
}

// Each round uses weights of its own.
TEST_F(ScaledIterationTest, TheRoundsOfALoopAreNoPasses) {
  for (int round = 0; round < 12; ++round) {
    for (std::size_t i = 0; i < kSteps; ++i) {
      DeviceRun* const weight = make_run({0, 2 + static_cast<std::uint32_t>(round)});
      weight->fresh = false;
      launch(works_[i], weight, false);
    }
  }
  EXPECT_EQ(quick_.plans, 0u);
  EXPECT_FALSE(tracker_.has_active_plan());
}

// An iteration whose sizes do not vary is learned as before.
TEST_F(ScaledIterationTest, EqualPassesNeedNoScale) {
  for (int i = 0; i < 12; ++i) pass(6);
  EXPECT_TRUE(tracker_.has_active_plan());
  EXPECT_EQ(quick_.plans, 0u);
}

}  // namespace
}  // namespace tessera
