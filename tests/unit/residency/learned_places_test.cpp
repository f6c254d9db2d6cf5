// Which iteration is learned for a program with inner loops, and when.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::IterationTrackerTest;

// Like a pipeline stage: a few forward rounds, many alternating ones, and a final round.
TEST_F(IterationTrackerTest, LearnsTheOuterIterationDuringAnInnerLoop) {
  const auto works = std::span(works_);
  const std::span<const char> round = works.first(10), turn = works.subspan(10, 20), end = works.subspan(30, 10);
  const auto play = [this](std::span<const char> loop, int times) {
    for (int i = 0; i < times; ++i) {
      for (const char& work : loop) launch(work, make_run(), true);
    }
  };
  play(round, 3);
  play(turn, 6);
  play(round, 1);
  play(end, 1);
  play(round, 3);
  play(turn, 1);
  ASSERT_NE(policy_.seen.steps.size(), 170u);
  play(turn, 2);
  EXPECT_TRUE(tracker_.has_active_plan());
  EXPECT_EQ(policy_.seen.steps.size(), 170u);
}

TEST_F(IterationTrackerTest, PlansAShortIterationWhenThereIsNoLongerOne) {
  for (const std::size_t steps : {1u, 3u}) {
    for (std::size_t i = 0; i < 20 * steps; ++i) launch(works_[steps + i % steps], make_run(), true);
    EXPECT_EQ(policy_.seen.steps.size(), steps);
    EXPECT_TRUE(tracker_.has_active_plan());
  }
}

// Each has its own weights: a plan for one would take the next one's weights for the same.
TEST_F(IterationTrackerTest, LearnsTheLayersOfAModelAsOneIteration) {
  std::vector<DeviceRun*> weights;
  for (std::size_t i = 0; i < 3 * kLayers; ++i) {
    weights.push_back(make_run());
    weights.back()->fresh = false;
  }
  for (int iteration = 0; iteration < 4; ++iteration) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      launch(works_[i % 3], weights[i], false);
      ASSERT_TRUE(policy_.seen.steps.empty() || policy_.seen.steps.size() == weights.size())
          << policy_.seen.steps.size();
    }
  }
  EXPECT_EQ(policy_.seen.steps.size(), weights.size());
}

// A separate tracker for launches of one run, which becomes short of memory at a point that the test chooses.
class LoopOfLaunchesTest : public IterationTrackerTest {
 protected:
  void launch_timed(const char& work, std::uint64_t nanoseconds) {
    const auto watch = own_.watches().start(stream_);
    own_.log().note(&work, {&run_, 1}, ++epoch_, true, watch, StreamId());
    EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(nanoseconds), {}).is_ok());
    EXPECT_TRUE(watch && own_.watches().stop(*watch, stream_));
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    read();
  }
  void launch_untimed(const char& work) {
    own_.log().note(&work, {&run_, 1}, ++epoch_, true, std::nullopt, StreamId());
    read();
  }
  void read() {
    IterationTracker::Orders orders;
    if (own_.wants_plan()) own_.ask_for_plan({.device = 64_MiB});
    own_.read(orders, clock_.now());
  }

  IterationTracker own_{sim_, DeviceId(0), policy_, planner_, runs_};
  DeviceRun* const run_ = make_run();
};

TEST_F(LoopOfLaunchesTest, RelearnsTheIterationAfterAPause) {
  constexpr std::size_t kSteps = 2 * kLayers;
  while (own_.log().is_on()) launch_untimed(works_[epoch_.value() % kSteps]);
  own_.note_shortage();
  for (std::size_t i = 0; i < 4 * kSteps; ++i) launch_timed(works_[i % kSteps], 100 + i % kSteps);
  EXPECT_TRUE(own_.has_active_plan());
  ASSERT_EQ(policy_.seen.steps.size(), kSteps);
  std::uint64_t sum = 0;
  for (const IterationStep& step : policy_.seen.steps) sum += step.duration.value();
  EXPECT_EQ(sum, kSteps * 100 + kSteps * (kSteps - 1) / 2);
}

// Learned in the middle of its second repetition, and timed from there on. Before the next repetition is complete, so
// many launches are recorded that the older half is dropped, which must not remove the beginning of the waiting
// iteration.
TEST_F(LoopOfLaunchesTest, KeepsAnIterationThatAwaitsItsDurations) {
  constexpr std::size_t kSteps = 40'000, kHalf = kSteps / 2, kFast = 8'000, kMost = 2 * IterationTracker::kMaxSteps;
  const std::vector<char> works(kSteps), others(kMost - kSteps - kHalf - 30'000);
  own_.note_shortage();
  for (const char& work : others) launch_untimed(work);
  for (std::size_t i = 0; i < kSteps + kHalf; ++i) launch_untimed(works[i % kSteps]);
  ASSERT_TRUE(policy_.seen.steps.empty());
  for (std::size_t i = kHalf; i < kHalf + kSteps; ++i) {
    launch_timed(works[i % kSteps], i % kSteps < kFast ? 10 : 1000);
  }
  launch_untimed(works[kHalf]);
  ASSERT_EQ(policy_.seen.steps.size(), kSteps);
  EXPECT_EQ(policy_.seen.steps.front().duration, Nanoseconds(10));
  EXPECT_EQ(policy_.seen.steps.back().duration, Nanoseconds(1000));
}

// The first of two loops was not timed before the second was learned.
TEST_F(LoopOfLaunchesTest, PlansAnUnplannedIterationWhenItReturns) {
  constexpr std::size_t kLong = kLayers, kShort = kLayers / 2;
  own_.note_shortage();
  for (std::size_t i = 0; i < 2 * kLong; ++i) launch_untimed(works_[i % kLong]);
  for (std::size_t i = 0; i < 2 * kShort; ++i) launch_untimed(works_[kLong + i % kShort]);
  ASSERT_TRUE(policy_.seen.steps.empty());
  for (std::size_t i = 0; i < 4 * kLong; ++i) launch_timed(works_[i % kLong], 100);
  EXPECT_EQ(policy_.seen.steps.size(), kLong);
  EXPECT_TRUE(own_.has_active_plan());
}

// The launches after the gap look like an iteration of twelve launches.
TEST_F(LoopOfLaunchesTest, LostLaunchesRestartTheCount) {
  constexpr std::size_t kSteps = kLayers, kLost = 8;
  const std::vector<char> others(LaunchLog::kMaxLaunches - kSteps);
  own_.note_shortage();
  for (const char& work : others) own_.log().note(&work, {&run_, 1}, ++epoch_, true, std::nullopt, StreamId());
  for (std::size_t i = 0; i < kSteps + kLost; ++i) {
    own_.log().note(&works_[i % kSteps], {&run_, 1}, ++epoch_, true, std::nullopt, StreamId());
  }
  read();
  for (std::size_t i = kLost; i < kSteps; ++i) launch_timed(works_[i], 100);
  read();
  EXPECT_TRUE(policy_.seen.steps.empty());
  for (std::size_t i = 0; i < 3 * kSteps; ++i) launch_timed(works_[i % kSteps], 100);
  EXPECT_EQ(policy_.seen.steps.size(), kSteps);
}

}  // namespace
}  // namespace tessera
