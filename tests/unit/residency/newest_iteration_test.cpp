// An iteration that interrupts or contains others: when its plan takes over, and when it gives way.
#include "residency/iteration/newest_iteration.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera {
namespace {

using test::DeviceRun;
using test::IterationTrackerTest;

// Answers when the test allows it, with a plan of the given predicted time.
class Oracle final : public Planner {
 public:
  explicit Oracle(const Policy& policy) : policy_(policy) {}
  void ask(const Iteration& iteration, const Machine& machine) override {
    asked = iteration.steps.size();
    candidates_ = {{{"", policy_.plan(iteration, machine), &policy_}, {}}};
  }
  std::vector<Candidate> answer() override {
    if (!ready || candidates_.empty()) return {};
    candidates_.front().time = time;
    return std::exchange(candidates_, {});
  }
  std::size_t asked = 0;  // with iterations of about this many steps
  bool ready = true;
  Nanoseconds time;

 private:
  const Policy& policy_;
  std::vector<Candidate> candidates_;
};

// Each third iteration has an additional launch, which makes a period of three iterations.
class RegularBreakTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kShort = 2 * kLayers, kLong = 3 * kShort + 1;

  RegularBreakTest() {
    tracker_.set_policy(policy_, oracle_);
    oracle_.time = Nanoseconds(1);
    for (int i = 0; i < 3; ++i) iterate();
    EXPECT_EQ(oracle_.asked, kShort);
    EXPECT_TRUE(tracker_.has_active_plan());
  }
  void iterate_and_break() {
    for (int i = 0; i < 3; ++i) iterate();
    launch(works_[2 * kLayers], make_run(), true);
  }
  // Twice until the longer period is learned, and once more until the time of the additional launch is known. Its plan
  // sends everything to the file.
  void learn_longer_period() {
    policy_.to = Location::kFile;
    for (int i = 0; i < 4; ++i) iterate_and_break();
    EXPECT_EQ(oracle_.asked, kLong);
  }
  Nanoseconds time_of_a_period() {
    const Nanoseconds before = clock_.now();
    iterate_and_break();
    return clock_.now() - before;
  }
  // The number of launches of the next period under any plan.
  std::size_t planned_launches() {
    std::size_t planned = 0;
    for (int i = 0; i < 3; ++i) {
      for (std::size_t step = 0; step < kShort; ++step) {
        launch(works_[step], make_run(), true);
        planned += tracker_.has_active_plan() ? 1 : 0;
      }
    }
    launch(works_[2 * kLayers], make_run(), true);
    return planned + (tracker_.has_active_plan() ? 1 : 0);
  }
  // The offload targets of an iteration in the middle of a period.
  std::set<Location> targets() {
    iterate();
    forget_orders();
    iterate();
    std::set<Location> places;
    for (const IterationTracker::Order& leave : left_) places.insert(leave.to);
    return places;
  }

  Oracle oracle_{policy_};
};

// So that launches in breaks have times when a period that includes them is learned.
TEST_F(RegularBreakTest, LaunchesInABreakAreTimed) {
  EXPECT_FALSE(tracker_.times());
  launch(works_[2 * kLayers], make_run(), true);
  EXPECT_TRUE(tracker_.times());
}

TEST_F(RegularBreakTest, KeepsThePlanWhileALongerPeriodIsPlanned) {
  oracle_.ready = false;
  learn_longer_period();
  EXPECT_EQ(planned_launches(), 3 * kShort - (kContext - 1)) << "until the break, and from a context behind it on";
}

TEST_F(RegularBreakTest, PrefersALongerPeriodPredictedFasterThanMeasured) {
  learn_longer_period();
  EXPECT_EQ(planned_launches(), kLong);
  EXPECT_EQ(targets(), std::set{Location::kFile});
}

TEST_F(RegularBreakTest, UsesALongerPeriodPredictedSlowerOnlyInBreaks) {
  oracle_.time = time_of_a_period() * 17 / 16;
  learn_longer_period();
  EXPECT_EQ(planned_launches(), kLong);
  EXPECT_EQ(targets(), std::set{Location::kHost});
}

TEST_F(RegularBreakTest, PrefersALongerPeriodPredictedEqualOnceItRepeats) {
  oracle_.time = time_of_a_period();
  learn_longer_period();
  EXPECT_EQ(planned_launches(), kLong);
  EXPECT_EQ(targets(), std::set{Location::kFile});
}

TEST_F(RegularBreakTest, DoesNotPreferOnePredictedEqualThatDoesNotRepeat) {
  oracle_.time = time_of_a_period();
  policy_.to = Location::kFile;
  for (int i = 0; i < 2; ++i) iterate_and_break();
  EXPECT_EQ(oracle_.asked, kLong);
  iterate();
  launch(works_[2 * kLayers], make_run(), true);  // two iterations too soon
  iterate();
  EXPECT_EQ(targets(), std::set{Location::kHost});
}

// Its predicted time was near zero, and its measured time exceeds the earlier periods' by this fraction.
class SlowLongPeriodTest : public RegularBreakTest {
 protected:
  void learn_longer_period_late() {
    policy_.to = Location::kFile;
    oracle_.ready = false;
    for (int i = 0; i < 4; ++i) iterate_and_break();
    oracle_.ready = true;
  }
  void iterate_and_wait(Nanoseconds wait) {
    for (int i = 0; i < 4; ++i) {
      iterate_and_break();
      clock_.run_until(clock_.now() + wait);
    }
  }
};
class SlowLongPeriodByPartTest : public SlowLongPeriodTest, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(SlowLongPeriodByPartTest, DemotesALongerPeriodMeasuredSlower) {
  const Nanoseconds period = time_of_a_period();
  learn_longer_period_late();
  iterate_and_wait(period / GetParam());
  const bool is_slower = GetParam() < PlanBandit::kRegressionTolerance;
  EXPECT_EQ(targets(), std::set{is_slower ? Location::kHost : Location::kFile});
  iterate();
  launch(works_[2 * kLayers], make_run(), true);
  EXPECT_TRUE(tracker_.has_active_plan()) << "in the break, which is in no other plan";
}

// The other periods were measured on an emptier device, and turn out slower.
TEST_F(SlowLongPeriodTest, PrefersItAgainWhenTheOthersAreSlower) {
  const Nanoseconds period = time_of_a_period();
  learn_longer_period_late();
  iterate_and_wait(period / 10);
  iterate_and_wait(period / 5);
  EXPECT_EQ(targets(), std::set{Location::kFile});
}

TEST_F(SlowLongPeriodTest, StaysDemotedWhileTheOthersAreFaster) {
  const Nanoseconds period = time_of_a_period();
  learn_longer_period_late();
  iterate_and_wait(period / 10);
  iterate_and_wait(period / 12);
  EXPECT_EQ(targets(), std::set{Location::kHost});
}

INSTANTIATE_TEST_SUITE_P(ByAPart, SlowLongPeriodByPartTest, ::testing::Values(10, 100));

TEST_F(RegularBreakTest, AFirstPlanNeedNotBeFaster) {
  oracle_.time = Nanoseconds(~std::uint64_t{0});
  tracker_.set_policy(policy_, oracle_);
  launch(works_[0], make_run(), true);
  EXPECT_TRUE(tracker_.has_active_plan());
}

}  // namespace
}  // namespace tessera
