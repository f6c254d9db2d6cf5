// Which of the iterations known to a tracker has precedence.
#include <gtest/gtest.h>

#include <utility>

#include "iteration_tracker_fixture.hpp"

namespace tessera::test {
namespace {

// For iterations of more than `steps` launches, asks `longer` for the plan.
class ByLength final : public Planner {
 public:
  ByLength(std::size_t steps, const Policy& shorter, const Policy& longer, Nanoseconds told)
      : steps_(steps), shorter_(shorter), longer_(longer), told_(told) {}
  void ask(const Iteration& iteration, const Machine& machine) override {
    const bool is_longer = iteration.steps.size() > steps_;
    const Policy& rest = is_longer ? longer_ : shorter_;
    answer_ = {{{"", rest.plan(iteration, machine), &rest}, is_longer ? told_ : Nanoseconds(1)}};
  }
  std::vector<Candidate> answer() override { return std::exchange(answer_, {}); }

 private:
  const std::size_t steps_;
  const Policy& shorter_;
  const Policy& longer_;
  const Nanoseconds told_;  // predicted time of the longer one
  std::vector<Candidate> answer_;
};

// A loop, repeated twice and followed by a launch of another kind, again and again.
class SeveralIterationsTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kLoop = 2 * kLayers;

  SeveralIterationsTest() {
    for (std::size_t i = 0; i <= kLoop; ++i) weights_.push_back(make_run());
    learner_.note_shortage();
  }
  void launch_in(Nanoseconds time, std::size_t work) {
    learner_.log().note(&works_[work], {&weights_[work], 1}, ++epoch_, true, std::nullopt, StreamId());
    clock_.run_until(clock_.now() + time);
    IterationTracker::Orders orders;
    if (learner_.wants_plan()) learner_.ask_for_plan({.device = 64_MiB});
    learner_.read(orders, clock_.now());
  }
  void loop_in(Nanoseconds time) {
    for (std::size_t i = 0; i < kLoop; ++i) launch_in(time, i);
  }
  // The plan followed at the end of the second loop.
  const Policy* round_in(Nanoseconds time) {
    loop_in(time);
    loop_in(time);
    const Policy* const followed = &learner_.decider();
    launch_in(time, kLoop);
    return followed;
  }

  EveryGap of_loop_, of_round_;
  ByLength by_length_{kLoop, of_loop_, of_round_, Nanoseconds(100 * (2 * kLoop + 1) * 11 / 10)};
  IterationTracker learner_{sim_, DeviceId(0), policy_, by_length_, runs_};
  std::vector<DeviceRun*> weights_;
};

TEST_F(SeveralIterationsTest, ALongerOneGoesFirstOnceTheLoopsInItTakeLongerThanItWasTold) {
  for (int i = 0; i < 3; ++i) loop_in(Nanoseconds(100));
  for (int i = 0; i < 8; ++i) EXPECT_NE(round_in(Nanoseconds(100)), &of_round_) << i;
  EXPECT_EQ(round_in(Nanoseconds(100)), &of_loop_) << "the round was told to take a tenth longer";
  round_in(Nanoseconds(200));
  EXPECT_EQ(round_in(Nanoseconds(200)), &of_round_);
  EXPECT_EQ(round_in(Nanoseconds(100)), &of_round_) << "and stays";
}

}  // namespace
}  // namespace tessera::test
