#include "residency/iteration/iteration_tracker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::EveryGap;
using test::IterationTrackerTest;

TEST_F(IterationTrackerTest, IssuesNoMovesBeforeTheProgramRepeats) {
  iterate();
  EXPECT_FALSE(tracker_.has_active_plan());
  EXPECT_TRUE(left_.empty() && came_.empty());
}

TEST_F(IterationTrackerTest, APlanIsActiveFromTheThirdIteration) {
  for (int i = 0; i < 2; ++i) iterate();
  forget_orders();
  DeviceRun* const first = make_run();
  launch(works_[0], first, true);
  EXPECT_TRUE(tracker_.has_active_plan());
  ASSERT_FALSE(left_.empty());
  EXPECT_EQ(left_.back().run, first);
}

TEST_F(IterationTrackerTest, LearnsBeforeMemoryIsShortAndPlansOnceItIs) {
  IterationTracker ample(sim_, DeviceId(0), policy_, planner_, runs_);
  const auto launch_all = [&] {
    for (const char& work : std::span(works_).first(2 * kLayers + 1)) {
      DeviceRun* const run = make_run();
      const auto watch = ample.times() ? ample.watches().start(stream_) : std::nullopt;
      ample.log().note(&work, {&run, 1}, ++epoch_, true, watch, StreamId());
      EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(100), {}).is_ok());
      if (watch) ample.watches().stop(*watch, stream_);
      EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
      IterationTracker::Orders orders;
      if (ample.wants_plan()) ample.ask_for_plan({.device = 64_MiB});
      ample.read(orders, clock_.now());
    }
  };
  for (int i = 0; i < 4; ++i) launch_all();
  EXPECT_FALSE(ample.times());
  EXPECT_FALSE(ample.has_active_plan());
  ample.note_shortage();
  for (int i = 0; i < 2; ++i) launch_all();
  EXPECT_TRUE(ample.has_active_plan());
}

TEST_F(IterationTrackerTest, MapsTagsToRunClasses) {
  const auto class_of_tag = [](TagId tag) { return tag == TagId(1) ? RunClass::kKvCache : RunClass::kUnknown; };
  IterationTracker tagged(sim_, DeviceId(0), policy_, planner_, runs_, class_of_tag);
  tagged.note_shortage();
  std::vector<DeviceRun*> runs;
  for (std::uint64_t i = 0; i < 2 * kLayers; ++i) runs.push_back(make_run_at(i + 1, {0, 2}, TagId(i % 2)));
  for (int iteration = 0; iteration < 4; ++iteration) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      tagged.log().note(&works_[i], {&runs[i], 1}, ++epoch_, true, std::nullopt, StreamId());
      IterationTracker::Orders orders;
      if (tagged.wants_plan()) tagged.ask_for_plan({.device = 64_MiB});
      tagged.read(orders, clock_.now());
    }
  }
  ASSERT_EQ(policy_.seen.runs.size(), runs.size());
  for (const IterationRun& run : policy_.seen.runs) {
    EXPECT_EQ(run.kind, run.tag == TagId(1) ? RunClass::kKvCache : RunClass::kUnknown);
  }
}

// Two strategies with nearly equal predicted times, each with its own offload target.
class TwoCandidates final : public Planner {
 public:
  explicit TwoCandidates(const Policy& policy) : policy_(policy) {}
  void ask(const Iteration& iteration, const Machine& machine) override {
    for (const std::uint64_t time : {std::uint64_t{1000}, std::uint64_t{1001}}) {
      OffloadPlan plan = policy_.plan(iteration, machine);
      for (OffloadInterval& interval : plan) interval.to = time == 1000 ? Location::kHost : Location::kFile;
      candidates_.push_back({{"", std::move(plan), &policy_}, Nanoseconds(time)});
    }
  }
  std::vector<Candidate> answer() override { return std::exchange(candidates_, {}); }

 private:
  const Policy& policy_;
  std::vector<Candidate> candidates_;
};

TEST_F(IterationTrackerTest, TriesTheNextStrategyWhenOneIsSlowerThanPredicted) {
  TwoCandidates planner(policy_);
  IterationTracker tracker(sim_, DeviceId(0), policy_, planner, runs_);
  tracker.note_shortage();
  std::vector<DeviceRun*> weights;
  for (std::size_t i = 0; i < 2 * kLayers; ++i) weights.push_back(make_run());
  Location to = Location::kHost;
  const auto iterate_in = [&](std::uint64_t step_time) {
    for (std::size_t i = 0; i < 2 * kLayers; ++i) {
      tracker.log().note(&works_[i], {&weights[i], 1}, ++epoch_, true, std::nullopt, StreamId());
      clock_.run_until(clock_.now() + Nanoseconds(step_time));
      IterationTracker::Orders orders;
      if (tracker.wants_plan()) tracker.ask_for_plan({.device = 64_MiB});
      tracker.read(orders, clock_.now());
      for (const IterationTracker::Order& leave : orders.evict) to = leave.to;
    }
  };
  for (int i = 0; i < 5; ++i) iterate_in(100);
  EXPECT_EQ(to, Location::kHost);
  iterate_in(100);
  EXPECT_EQ(to, Location::kFile) << "it has taken 4000";
  for (int i = 0; i < 4; ++i) iterate_in(200);
  EXPECT_EQ(to, Location::kHost) << "the other takes 8000";
}

TEST_F(IterationTrackerTest, StopsRecordingWhileMemoryIsNotShort) {
  IterationTracker ample(sim_, DeviceId(0), policy_, planner_, runs_);
  DeviceRun* const run = make_run();
  IterationTracker::Orders orders;
  for (std::size_t i = 0; i <= IterationTracker::kMaxSteps; ++i) {
    ample.log().note(&works_[i % 3], {&run, 1}, ++epoch_, true, std::nullopt, StreamId());
    if (i % 1000 == 0) ample.read(orders, clock_.now());
  }
  ample.read(orders, clock_.now());
  EXPECT_FALSE(ample.log().is_on());
  ample.note_shortage();
  EXPECT_TRUE(ample.log().is_on());
}

// Runs in an offload interval when the plan is found were used before there was a plan.
TEST_F(IterationTrackerTest, ANewPlanEvictsRunsInsideTheirOffloadInterval) {
  DeviceRun* const weight = make_run();
  Epoch used;
  for (int i = 0; i < 2; ++i) {
    for (std::size_t step = 0; step < kLayers; ++step) launch(works_[step], make_run(), true);
    launch(works_[2 * kLayers], weight, true);
    used = epoch_;
    for (std::size_t step = kLayers; step < 2 * kLayers; ++step) launch(works_[step], make_run(), true);
  }
  ASSERT_TRUE(left_.empty());
  launch(works_[0], make_run(), true);
  ASSERT_EQ(left_.size(), 1u);
  EXPECT_EQ(left_.front().run, weight);
  EXPECT_EQ(left_.front().used, used);
}

TEST_F(IterationTrackerTest, MatchesReallocatedRunsByRole) {
  for (int i = 0; i < 3; ++i) iterate();
  forget_orders();
  const std::size_t before = runs_.size();
  iterate();
  // All but the last layer have a gap between their two uses.
  ASSERT_EQ(left_.size(), kLayers - 1);
  ASSERT_EQ(came_.size(), kLayers - 1);
  for (std::size_t i = 0; i + 1 < kLayers; ++i) {
    EXPECT_EQ(left_[i].run, runs_[before + i].get());
    EXPECT_EQ(came_[i], runs_[before + kLayers - 2 - i].get());
  }
}

TEST_F(IterationTrackerTest, TracksBlocksAcrossTheStartOfTheLearnedIteration) {
  // The learned launches begin in the middle: with reads of what was written before.
  std::vector<DeviceRun*> activations;
  for (std::size_t i = 0; i < kLayers; ++i) activations.push_back(make_run());
  for (std::size_t i = kLayers; i-- > 0;) launch(works_[2 * kLayers - 1 - i], activations[i], false);
  for (int i = 0; i < 3; ++i) iterate();
  ASSERT_EQ(policy_.seen.steps.size(), 2 * kLayers);
  for (const Gap& gap : find_gaps(policy_.seen)) EXPECT_NE(gap.after, gap.until);
}

TEST_F(IterationTrackerTest, DistinguishesBlocksOfOneSizeByTag) {
  // An update reads a weight and a gradient; the gradient's address is before the weight's in one iteration and after
  // it in the next.
  constexpr TagId kWeight(1), kGradient(2);
  std::vector<DeviceRun*> weights;
  for (std::size_t i = 0; i < kLayers; ++i) {
    weights.push_back(make_run_at(1000 + i, {0, 2}, kWeight));
  }
  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    const std::uint64_t first = iteration % 2 == 0 ? 1 : 2000;
    for (std::size_t i = 0; i < kLayers; ++i) {
      DeviceRun* gradient = make_run_at(first + 100 * iteration + i, {0, 2}, kGradient);
      launch(works_[2 * i], gradient, true);
      std::array both = {weights[i], gradient};
      if (first == 1) std::swap(both[0], both[1]);
      launch(works_[2 * i + 1], both, false);
    }
  }
  std::set<std::uint32_t> distinct;
  for (const RunUse& use : policy_.seen.uses) distinct.insert(use.run);
  EXPECT_EQ(distinct.size(), 2 * kLayers);
  for (std::uint32_t step = 0; step < policy_.seen.steps.size(); ++step) {
    const auto uses = policy_.seen.uses_of(step);
    for (const RunUse& use : uses) {
      EXPECT_EQ(policy_.seen.runs[use.run].tag, uses.size() == 2 && &use == &uses[0] ? kWeight : kGradient);
    }
  }
}

// A loop over chunks that are all alike to the launches, and each in memory of its own; an iteration may end with two
// launches more.
class LoopOverChunks : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kChunks = 48, kShort = 3 * kChunks, kLong = kShort + 2;

  LoopOverChunks() {
    for (std::size_t i = 0; i < kChunks; ++i) chunks_.push_back(make_run());
    for (DeviceRun* const chunk : chunks_) launch(works_[3], chunk, true);
  }
  void go_round(std::size_t chunk) {
    launch(works_[0], chunks_[chunk], true);
    launch(works_[1], buffer_, true);
    launch(works_[2], chunks_[chunk], false);
  }
  void go_over(bool is_long) {
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) go_round(chunk);
    for (int i = 0; is_long && i < 2; ++i) launch(works_[3], buffer_, true);
  }

  DeviceRun* const buffer_ = make_run();
  std::vector<DeviceRun*> chunks_;
};

TEST_F(LoopOverChunks, TheRoundIsFoundAgainByItsMemory) {
  for (int i = 0; i < 3; ++i) go_over(true);
  go_over(false);
  for (std::size_t chunk = 0; chunk <= 30; ++chunk) go_round(chunk);
  EXPECT_EQ(tracker_.next_use(*chunks_[30], epoch_), epoch_ + (kLong - 2));
}

TEST_F(LoopOverChunks, TwoThatAlternateAreLearnedAsOneIteration) {
  for (int i = 0; i < 8; ++i) go_over(i % 2 == 0);
  EXPECT_EQ(policy_.seen.steps.size(), kLong + kShort);
  for (std::size_t chunk = 0; chunk <= 30; ++chunk) go_round(chunk);
  EXPECT_EQ(tracker_.next_use(*chunks_[30], epoch_), epoch_ + (kLong - 2)) << "the longer one";
  for (std::size_t chunk = 31; chunk < kChunks; ++chunk) go_round(chunk);
  for (int i = 0; i < 2; ++i) launch(works_[3], buffer_, true);
  for (std::size_t chunk = 0; chunk <= 30; ++chunk) go_round(chunk);
  EXPECT_EQ(tracker_.next_use(*chunks_[30], epoch_), epoch_ + (kShort - 2)) << "the shorter one";
}

TEST_F(IterationTrackerTest, MeasuresStepDurations) {
  for (int i = 0; i < 3; ++i) iterate();
  ASSERT_EQ(policy_.seen.steps.size(), 2 * kLayers);
  for (std::size_t i = 0; i < 2 * kLayers; ++i) {
    EXPECT_EQ(policy_.seen.steps[i].duration, Nanoseconds(100 + i));
  }
}

TEST_F(IterationTrackerTest, PlansOnceMostDurationsAreMeasured) {
  constexpr std::size_t kSteps = 4 * kLayers;
  DeviceRun* const run = make_run();
  for (const std::size_t untimed : {1u, 2u}) {
    IterationTracker tracker(sim_, DeviceId(0), policy_, planner_, runs_);
    tracker.note_shortage();
    IterationTracker::Orders orders;
    for (std::size_t i = 0; i < 2 * kSteps; ++i) {
      const std::size_t step = i % kSteps;
      const auto watch = step < untimed ? std::nullopt : tracker.watches().start(stream_);
      tracker.log().note(&works_[step], {&run, 1}, ++epoch_, true, watch, StreamId());
      if (watch) tracker.watches().stop(*watch, stream_);
      EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
      tracker.read(orders, clock_.now());
    }
    EXPECT_EQ(tracker.wants_plan(), untimed == 1) << "of 80 one may be unknown";
  }
}

// A program is some iterations of a short loop ahead of its device.
TEST_F(IterationTrackerTest, PlansOnlyAfterTheDeviceHasRunTheLoop) {
  constexpr std::size_t kSteps = 2;
  DeviceRun* const run = make_run();
  IterationTracker tracker(sim_, DeviceId(0), policy_, planner_, runs_);
  tracker.note_shortage();
  IterationTracker::Orders orders;
  const auto go_round = [&] {
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto watch = tracker.times() ? tracker.watches().start(stream_) : std::nullopt;
      tracker.log().note(&works_[step], {&run, 1}, ++epoch_, true, watch, StreamId());
      EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(100), {}).is_ok());
      if (watch) tracker.watches().stop(*watch, stream_);
      tracker.read(orders, clock_.now());
    }
  };
  for (int i = 0; i < 40; ++i) go_round();
  ASSERT_TRUE(tracker.times()) << "the loop is known";
  EXPECT_FALSE(tracker.wants_plan());
  EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
  go_round();
  EXPECT_TRUE(tracker.wants_plan());
}

TEST_F(IterationTrackerTest, ReportsTheNextUseOfARun) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  EXPECT_EQ(tracker_.next_use(*run, epoch_), epoch_ + (2 * kLayers - 1));
  launch(works_[1], make_run(), true);
  EXPECT_EQ(tracker_.next_use(*run, epoch_), epoch_ + (2 * kLayers - 2));
}

TEST_F(IterationTrackerTest, CountsTheNextUseInLaunchesNotInEpochs) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  epoch_ += 100 * kLayers;  // as fences do
  launch(works_[1], make_run(), true);
  EXPECT_EQ(tracker_.next_use(*run, epoch_), epoch_ + (2 * kLayers - 2));
}

TEST_F(IterationTrackerTest, TreatsARunOfOneLargePageLikeOthers) {
  DeviceRun* const large = make_run({1, 0});
  for (int i = 0; i < 3; ++i) {
    iterate();
    launch(works_[2 * kLayers], large, true);
  }
  EXPECT_EQ(policy_.seen.runs.size(), kLayers + 1);
}

TEST_F(IterationTrackerTest, PassesRecomputeCostsToThePolicyAndRecomputesToTheEngine) {
  constexpr std::uint64_t kCost = 321;
  policy_.to = Location::kNowhere;
  for (int i = 0; i < 4; ++i) {
    std::vector<DeviceRun*> activations;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      activations.push_back(make_run());
      launch(works_[layer], activations.back(), true);
      if (layer % 2 == 0) activations.back()->recomputed_in.store(kCost);  // as when its callback is set
    }
    for (std::size_t layer = kLayers; layer-- > 0;) {
      launch(works_[2 * kLayers - 1 - layer], activations[layer], false);
    }
  }
  std::size_t recomputable = 0;
  for (const IterationRun& run : policy_.seen.runs) recomputable += run.recompute == Nanoseconds(kCost) ? 1 : 0;
  EXPECT_EQ(recomputable, kLayers / 2);
  ASSERT_FALSE(left_.empty());
  for (const IterationTracker::Order& leave : left_) EXPECT_EQ(leave.to, Location::kNowhere);
}

TEST_F(IterationTrackerTest, PlansNoRunsOfOneBasePage) {
  DeviceRun* const small = make_run({0, 1});
  for (int i = 0; i < 3; ++i) {
    iterate();
    launch(works_[2 * kLayers], small, true);
  }
  EXPECT_EQ(policy_.seen.runs.size(), kLayers);
  EXPECT_EQ(policy_.seen.steps.size(), 2 * kLayers + 1);
  EXPECT_EQ(tracker_.next_use(*small, epoch_), Epoch());
}

// An iteration of small runs alone is not planned, and not looked at again at each of its launches.
TEST_F(IterationTrackerTest, LearnsAnIterationThatHasOnlyNowLargeRuns) {
  DeviceRun* const small = make_run({0, 1});
  for (int i = 0; i < 6; ++i) {
    for (const char& work : std::span(works_).first(2 * kLayers)) launch(work, small, true);
  }
  EXPECT_FALSE(tracker_.has_active_plan());
  for (int i = 0; i < 6; ++i) iterate();
  EXPECT_TRUE(tracker_.has_active_plan());
}

TEST_F(IterationTrackerTest, ReportsRunsOfOneBasePageSeparately) {
  DeviceRun* const first = make_run({0, 1});
  DeviceRun* const second = make_run({0, 1});
  for (int i = 0; i < 4; ++i) {
    iterate();
    // One of them in one iteration, the other or both in the next: the launches are the same.
    std::array both = {first, second};
    launch(works_[2 * kLayers], std::span(both).first(i % 2 == 0 ? 1 : 2), true);
  }
  EXPECT_TRUE(tracker_.has_active_plan());
  const SmallRuns& small = policy_.seen.small;
  EXPECT_EQ(small.runs.size(), 2u);
  ASSERT_EQ(small.ends.size(), policy_.seen.steps.size());
  EXPECT_EQ(small.ends.back(), small.uses.size());
  for (const RunUse& use : small.uses) EXPECT_TRUE(use.writes);
}

TEST_F(IterationTrackerTest, NamesNoRemovedRun) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const gone = make_run();
  launch(works_[0], gone, true);
  tracker_.forget(*gone);
  forget_orders();
  for (std::size_t i = 1; i < kLayers; ++i) launch(works_[i], make_run(), true);
  for (std::size_t i = kLayers; i-- > 0;) {
    launch(works_[2 * kLayers - 1 - i], make_run(), false);
  }
  ASSERT_FALSE(came_.empty());
  for (DeviceRun* run : came_) EXPECT_NE(run, gone);
}

}  // namespace
}  // namespace tessera
