// Switching to another policy while a plan of the first one is followed.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::EveryGap;
using test::IterationTrackerTest;

class NextPolicyTest : public IterationTrackerTest {
 protected:
  NextPolicyTest() { next_.to = Location::kNowhere; }  // distinguishes its plan from the first one's

  EveryGap next_;
  FirstStrategy next_planner_{next_};
};

TEST_F(NextPolicyTest, PlansTheLearnedIterationAtOnce) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  ASSERT_FALSE(tracker_.next_use(*run, epoch_).is_never());
  tracker_.set_policy(next_, next_planner_);
  EXPECT_FALSE(tracker_.has_active_plan());
  EXPECT_EQ(&tracker_.decider(), &next_);
  EXPECT_FALSE(tracker_.next_use(*run, epoch_).is_never()) << "which is the program's, whoever plans";
  EXPECT_TRUE(tracker_.wants_plan());

  forget_orders();
  launch(works_[1], make_run(), true);
  EXPECT_TRUE(tracker_.has_active_plan());
  EXPECT_EQ(&tracker_.decider(), &next_);
  ASSERT_EQ(next_.seen.steps.size(), policy_.seen.steps.size());
  for (std::size_t i = 0; i < next_.seen.steps.size(); ++i) {
    EXPECT_EQ(next_.seen.steps[i].duration, policy_.seen.steps[i].duration);
  }
  ASSERT_FALSE(left_.empty());
  for (const IterationTracker::Order& leave : left_) EXPECT_EQ(leave.to, Location::kNowhere);
}

TEST_F(NextPolicyTest, ReplacesAPlannerThatHasNotAnswered) {
  class SilentPlanner final : public Planner {
   public:
    void ask(const Iteration& iteration, const Machine&) override { steps = iteration.steps.size(); }
    std::vector<Candidate> answer() override { return {}; }
    std::size_t steps = 0;
  } silent;
  tracker_.set_policy(policy_, silent);
  for (int i = 0; i < 4; ++i) iterate();
  ASSERT_EQ(silent.steps, 2 * kLayers);
  EXPECT_FALSE(tracker_.has_active_plan());
  tracker_.set_policy(next_, next_planner_);
  launch(works_[0], make_run(), true);
  EXPECT_EQ(next_.seen.steps.size(), 2 * kLayers);
  EXPECT_TRUE(tracker_.has_active_plan());
}

TEST_F(NextPolicyTest, WaitsForTheSameDurations) {
  iterate();
  std::size_t launched = 0;
  while (policy_.seen.steps.empty()) {
    tracker_.set_policy(policy_, planner_);  // has no effect as long as nothing is known
    launch(works_[launched % kLayers], make_run(), true);
    ASSERT_LT(++launched, 10 * kLayers);
  }
  std::size_t exact = 0;
  for (const IterationStep& step : policy_.seen.steps) exact += step.duration >= Nanoseconds(100) ? 1 : 0;
  EXPECT_EQ(exact, policy_.seen.steps.size());
}

// The first of two loops was never timed when the second was learned.
TEST_F(NextPolicyTest, PlansTheNewestUnplannedIteration) {
  constexpr std::size_t kShort = kLayers / 2;
  IterationTracker tracker(sim_, DeviceId(0), policy_, planner_, runs_);
  tracker.note_shortage();
  DeviceRun* const run = make_run();
  IterationTracker::Orders orders;
  const auto loop = [&](std::size_t steps, int times) {
    for (std::size_t i = 0; i < steps * static_cast<std::size_t>(times); ++i) {
      tracker.log().note(&works_[steps + i % steps], std::span(&run, 1), ++epoch_, false, std::nullopt, StreamId());
      tracker.read(orders, clock_.now());
      if (tracker.wants_plan()) tracker.ask_for_plan({.device = 64_MiB});
    }
  };
  loop(4 * kLayers, 2);
  loop(kShort, 2);
  ASSERT_TRUE(policy_.seen.steps.empty());
  tracker.set_policy(next_, next_planner_);
  EXPECT_FALSE(tracker.wants_plan());
  loop(kShort, 2);
  EXPECT_EQ(next_.seen.steps.size(), kShort);
}

TEST_F(NextPolicyTest, DoesNotPlanATooLongPeriod) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  const std::vector<char> works(IterationTracker::kMaxSteps + 1);
  IterationTracker::Orders orders;
  for (int round = 0; round < 3; ++round) {
    for (const char& work : works) {
      tracker_.log().note(&work, std::span(&run, 1), ++epoch_, false, std::nullopt, StreamId());
      if (epoch_.value() % 1024 == 0) tracker_.read(orders, clock_.now());
    }
  }
  tracker_.read(orders, clock_.now());
  tracker_.set_policy(next_, next_planner_);
  ASSERT_TRUE(tracker_.wants_plan());
  tracker_.ask_for_plan({.device = 64_MiB});
  EXPECT_EQ(next_.seen.steps.size(), 2 * kLayers) << "it may come back to those";
}

}  // namespace
}  // namespace tessera
