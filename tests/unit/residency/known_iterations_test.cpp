// Which of the iterations known to a tracker are kept, and which of them is followed.
#include "residency/iteration/known_iterations.hpp"

#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "iteration_tracker_fixture.hpp"

namespace tessera::test {
namespace {

// For iterations of more than `steps` launches, asks `longer` for the plan.
class ByLength final : public Planner {
 public:
  ByLength(std::size_t steps, const Policy& shorter, const Policy& longer, Nanoseconds predicted)
      : steps_(steps), shorter_(shorter), longer_(longer), predicted_(predicted) {}
  void ask(const Iteration& iteration, const Machine& machine) override {
    const bool is_longer = iteration.steps.size() > steps_;
    const Policy& rest = is_longer ? longer_ : shorter_;
    answer_ = {{{"", rest.plan(iteration, machine), &rest}, is_longer ? predicted_ : Nanoseconds(1)}};
  }
  std::vector<Candidate> answer() override { return std::exchange(answer_, {}); }

 private:
  const std::size_t steps_;
  const Policy& shorter_;
  const Policy& longer_;
  const Nanoseconds predicted_;  // for the longer one
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

TEST_F(SeveralIterationsTest, PrefersTheLongerPlanWhenTheLoopsAreSlowerThanPredicted) {
  for (int i = 0; i < 3; ++i) loop_in(Nanoseconds(100));
  for (int i = 0; i < 8; ++i) EXPECT_NE(round_in(Nanoseconds(100)), &of_round_) << i;
  EXPECT_EQ(round_in(Nanoseconds(100)), &of_loop_) << "the round was predicted to take a tenth longer";
  round_in(Nanoseconds(200));
  EXPECT_EQ(round_in(Nanoseconds(200)), &of_round_);
  EXPECT_EQ(round_in(Nanoseconds(100)), &of_round_) << "and stays";
}

// Two iterations whose last launches are the same, as the optimizer's are for all sentence lengths.
class SharedTailTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kShort = 20, kLong = 24, kTail = 20;

  SharedTailTest() {
    for (std::size_t i = 0; i < kShort + kLong + kTail; ++i) weights_.push_back(make_run());
    tracker_.note_shortage();
  }
  void launch(std::size_t work) {
    tracker_.log().note(&works_of_both_[work], {&weights_[work], 1}, ++epoch_, true, std::nullopt, StreamId());
    clock_.run_until(clock_.now() + Nanoseconds(100));
    IterationTracker::Orders orders;
    if (tracker_.wants_plan()) tracker_.ask_for_plan({.device = 64_MiB});
    tracker_.read(orders, clock_.now());
  }
  // The plans followed at the end of the iteration's own part, and of the part that both have.
  std::pair<const Policy*, const Policy*> iterate(bool is_long) {
    const std::size_t first = is_long ? kShort : 0, count = is_long ? kLong : kShort;
    for (std::size_t i = 0; i < count; ++i) launch(first + i);
    const Policy* const own = &tracker_.decider();
    for (std::size_t i = 0; i < kTail; ++i) launch(kShort + kLong + i);
    return {own, &tracker_.decider()};
  }

  char works_of_both_[kShort + kLong + kTail] = {};
  EveryGap of_short_, of_long_;
  ByLength by_length_{kShort + kTail, of_short_, of_long_, Nanoseconds(1)};
  IterationTracker tracker_{sim_, DeviceId(0), policy_, by_length_, runs_};
  std::vector<DeviceRun*> weights_;
};

TEST_F(SharedTailTest, AnIterationThatKeepsItsPlaceStaysActiveInAPartThatAnotherSharesWithIt) {
  using Followed = std::pair<const Policy*, const Policy*>;
  for (int i = 0; i < 5; ++i) iterate(false);
  EXPECT_EQ(iterate(false), Followed(&of_short_, &of_short_));
  for (int i = 0; i < 4; ++i) iterate(true);
  EXPECT_EQ(iterate(true), Followed(&of_long_, &of_long_)) << "the newest has the highest rank";
  iterate(false);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(iterate(false), Followed(&of_short_, &of_short_)) << i;
  iterate(true);
  EXPECT_EQ(iterate(true), Followed(&of_long_, &of_long_));
}

// A validation pass launches what an iteration begins with.
class ValidationTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kForward = 40, kIteration = 100;

  ValidationTest() {
    for (std::size_t i = 0; i < kIteration; ++i) weights_.push_back(make_run());
    tracker_.set_policy(policy_, by_length_);
  }
  void launch_first(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) launch(works_[i], weights_[i], true);
  }
  // The plan followed at its end.
  const Policy* iterate() {
    launch_first(kIteration);
    return &tracker_.decider();
  }

  EveryGap of_iteration_, of_both_;
  ByLength by_length_{kIteration, of_iteration_, of_both_, Nanoseconds(1)};
  std::vector<DeviceRun*> weights_;
};

TEST_F(ValidationTest, OneThatLooksLikeTheNextIterationsBeginningDoesNotRepeat) {
  for (int i = 0; i < 5; ++i) iterate();
  launch_first(kForward);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(iterate(), &of_iteration_) << i;
}

TEST_F(ValidationTest, IsLearnedWithTheIterationThatItFollowsEachTime) {
  for (int i = 0; i < 5; ++i) iterate();
  for (int i = 0; i < 3; ++i) {
    launch_first(kForward);
    iterate();
  }
  for (int i = 0; i < 3; ++i) {
    launch_first(kForward);
    EXPECT_EQ(iterate(), &of_both_) << i;
  }
}

// Loops, each repeated many times, such as a prompt and its decoded words.
class LoopsTest : public IterationTrackerTest {
 protected:
  static constexpr std::size_t kShort = 2 * kLayers;
  using Loop = std::span<const char>;

  LoopsTest() {
    for (int i = 0; i < 3; ++i) iterate();
  }

  Loop loop(std::size_t number) const { return Loop(works_).subspan(number * kShort, kShort); }
  void play(const Loop& loop) {
    for (int i = 0; i < 4; ++i) {
      for (const char& work : loop) launch(work, make_run(), true);
    }
  }
  // The launches of another loop until a plan is followed again; the size of the loop if none is.
  std::size_t launches_until_planned(const Loop& loop) {
    for (std::size_t i = 0; i < loop.size(); ++i) {
      launch(loop[i], make_run(), true);
      if (tracker_.has_active_plan()) return i + 1;
    }
    return loop.size();
  }
};

TEST_F(LoopsTest, ReactivatesThePlanWhenALoopReturns) {
  const Loop prompt = loop(1), words = loop(2);
  play(prompt);
  play(words);
  EXPECT_EQ(launches_until_planned(prompt), kContext);
  EXPECT_EQ(launches_until_planned(words), kContext);
}

TEST_F(LoopsTest, KeepsTheLastLoops) {
  for (std::size_t i = 0; i <= KnownIterations::kMost; ++i) play(loop(i));
  for (std::size_t i = KnownIterations::kMost; i > 0; --i) EXPECT_LE(launches_until_planned(loop(i)), kContext);
  EXPECT_EQ(launches_until_planned(loop(0)), kShort);
}

TEST_F(LoopsTest, DropsTheLeastRecentlyUsedLoop) {
  for (std::size_t i = 0; i < KnownIterations::kMost; ++i) play(loop(i));
  play(loop(0));
  play(loop(KnownIterations::kMost));
  EXPECT_LE(launches_until_planned(loop(0)), kContext);
  EXPECT_EQ(launches_until_planned(loop(1)), kShort);
}

// As frameworks launch when they initialise many tensors.
TEST_F(LoopsTest, VeryShortLoopsEvictNoOther) {
  for (std::size_t i = 0; i < KnownIterations::kMost; ++i) {
    for (int turn = 0; turn < 30; ++turn) {
      for (const char& work : loop(i + 1).first(i + 1)) launch(work, make_run(), true);
    }
  }
  EXPECT_LE(launches_until_planned(loop(0)), kContext);
}

}  // namespace
}  // namespace tessera::test
