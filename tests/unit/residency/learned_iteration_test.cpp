// A plan while the program temporarily does something else.
#include "residency/iteration/learned_iteration.hpp"

#include <gtest/gtest.h>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::IterationTrackerTest;

TEST_F(IterationTrackerTest, StopsAtOnceWhenTheProgramDeviates) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  forget_orders();
  launch(works_[2 * kLayers], make_run(), true);
  EXPECT_FALSE(tracker_.has_active_plan());
  EXPECT_TRUE(left_.empty() && came_.empty());
  EXPECT_TRUE(tracker_.next_use(*run, epoch_).is_never());
}

TEST_F(IterationTrackerTest, ResumesThePlanSoonAfterABreak) {
  for (int i = 0; i < 3; ++i) iterate();
  for (int i = 0; i < 5; ++i) launch(works_[2 * kLayers], make_run(), true);
  iterate();
  EXPECT_TRUE(tracker_.has_active_plan());
}

// Runs in an offload interval at that point have been used, or fetched, since the plan was left.
TEST_F(IterationTrackerTest, AResumedPlanEvictsRunsInsideTheirOffloadInterval) {
  DeviceRun* const weight = make_run();
  const auto iterate_with_weight = [&] {
    launch(works_[2 * kLayers], weight, true);
    iterate();
  };
  for (int i = 0; i < 3; ++i) iterate_with_weight();
  for (std::size_t i = 1; i < 5; ++i) launch(works_[2 * kLayers + i], weight, false);
  forget_orders();
  iterate_with_weight();
  std::size_t sent = 0;
  for (const IterationTracker::Order& leave : left_) sent += leave.run == weight ? 1 : 0;
  EXPECT_EQ(sent, 1u);
  EXPECT_EQ(left_.front().run, weight) << "with the first launch that is known again";
}

}  // namespace
}  // namespace tessera
