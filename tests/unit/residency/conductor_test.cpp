#include "residency/conductor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <set>
#include <span>
#include <vector>

#include "base/virtual_clock.hpp"
#include "driver/sim_driver.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a Run() of its own

// Away in every gap that is longer than a step, back with the step before.
class EveryGap final : public Policy {
 public:
  std::string_view name() const override { return "every-gap"; }
  Decision decide(const Snapshot&) const override { return {}; }
  AbsencePlan plan(const Iteration& iteration, const Machine&) const override {
    seen = iteration;
    AbsencePlan plan;
    const auto steps = static_cast<std::uint32_t>(iteration.steps.size());
    for (const Gap& gap : find_gaps(iteration)) {
      if ((gap.until + steps - gap.after) % steps == 1) continue;
      plan.push_back({.gap = gap, .back_at = (gap.until + steps - 1) % steps, .to = to});
    }
    return plan;
  }
  mutable Iteration seen;
  Away to = Away::kHost;
};

// A program of kLayers layers: activation i is written in step i and read in step 2 * kLayers - 1 - i.
class ConductorTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLayers = 20;

  ~ConductorTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  DeviceRun* make_run(RunShape shape = {0, 2}) {
    runs_.emplace_back(Address((runs_.size() + 1) << 26), shape, TagId());
    return &runs_.back();
  }
  void launch(const char& work, DeviceRun* run, bool writes) { launch(work, std::span(&run, 1), writes); }
  void launch(const char& work, std::span<DeviceRun* const> runs, bool writes) {
    const auto watch = conductor_.times() ? conductor_.watches().start(stream_) : std::nullopt;
    conductor_.log().note(&work, runs, ++epoch_, writes, watch);
    EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(100 + static_cast<std::uint64_t>(&work - works_)), {}).is_ok());
    if (watch) conductor_.watches().stop(*watch, stream_);
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    Conductor::Orders orders;
    if (conductor_.wants_plan()) conductor_.ask_for_plan({.device = 64_MiB});
    conductor_.read(orders);
    for (const Conductor::Order& leave : orders.leave) left_.push_back(leave);
    for (const Conductor::Order& come : orders.come) came_.push_back(come.run);
  }
  // New runs every time, as an allocator may give them; they are live where the next iteration begins.
  void iterate() {
    std::vector<DeviceRun*> activations;
    for (std::size_t i = 0; i < kLayers; ++i) {
      activations.push_back(make_run());
      launch(works_[i], activations.back(), true);
    }
    for (std::size_t i = kLayers; i-- > 0;) launch(works_[2 * kLayers - 1 - i], activations[i], false);
  }
  void forget_orders() {
    left_.clear();
    came_.clear();
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  EveryGap policy_;
  FirstStrategy planner_{policy_};
  Conductor conductor_{sim_, DeviceId(0), policy_, planner_};
  const char works_[2 * kLayers + 1] = {};
  std::deque<DeviceRun> runs_;
  std::uint64_t epoch_ = 0;
  std::vector<Conductor::Order> left_;
  std::vector<DeviceRun*> came_;
};

TEST_F(ConductorTest, GivesNoOrdersBeforeTheProgramRepeats) {
  iterate();
  EXPECT_FALSE(conductor_.leads());
  EXPECT_TRUE(left_.empty() && came_.empty());
}

TEST_F(ConductorTest, LeadsFromTheThirdIterationOn) {
  for (int i = 0; i < 2; ++i) iterate();
  forget_orders();
  iterate();
  EXPECT_TRUE(conductor_.leads());
  EXPECT_FALSE(left_.empty());
}

TEST_F(ConductorTest, KnowsWhichRunPlaysAPartThoughItLiesElsewhereEachTime) {
  for (int i = 0; i < 3; ++i) iterate();
  forget_orders();
  const std::size_t before = runs_.size();
  iterate();
  // All but the last layer have a gap between their two uses.
  ASSERT_EQ(left_.size(), kLayers - 1);
  ASSERT_EQ(came_.size(), kLayers - 1);
  for (std::size_t i = 0; i + 1 < kLayers; ++i) {
    EXPECT_EQ(left_[i].run, &runs_[before + i]);
    EXPECT_EQ(came_[i], &runs_[before + kLayers - 2 - i]);
  }
}

TEST_F(ConductorTest, FollowsBlocksAcrossTheBeginningOfTheLearnedIteration) {
  // The launches that are learned begin in the middle: with reads of what was written before.
  std::vector<DeviceRun*> activations;
  for (std::size_t i = 0; i < kLayers; ++i) activations.push_back(make_run());
  for (std::size_t i = kLayers; i-- > 0;) launch(works_[2 * kLayers - 1 - i], activations[i], false);
  for (int i = 0; i < 3; ++i) iterate();
  ASSERT_EQ(policy_.seen.steps.size(), 2 * kLayers);
  for (const Gap& gap : find_gaps(policy_.seen)) EXPECT_NE(gap.after, gap.until);
}

TEST_F(ConductorTest, TellsBlocksOfOneSizeApartByWhatTheyAreFor) {
  // An update reads a weight and a gradient, which lies before the weight in one iteration and
  // behind it in the next.
  constexpr TagId kWeight(1), kGradient(2);
  std::vector<DeviceRun*> weights;
  for (std::size_t i = 0; i < kLayers; ++i) {
    weights.push_back(&runs_.emplace_back(Address((1000 + i) << 26), RunShape{0, 2}, kWeight));
  }
  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    const std::uint64_t first = iteration % 2 == 0 ? 1 : 2000;
    for (std::size_t i = 0; i < kLayers; ++i) {
      DeviceRun* gradient = &runs_.emplace_back(Address((first + 100 * iteration + i) << 26),
                                                RunShape{0, 2}, kGradient);
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
      EXPECT_EQ(policy_.seen.runs[use.run].tag,
                uses.size() == 2 && &use == &uses[0] ? kWeight : kGradient);
    }
  }
}

TEST_F(ConductorTest, MeasuresHowLongEachStepTakes) {
  for (int i = 0; i < 3; ++i) iterate();
  ASSERT_EQ(policy_.seen.steps.size(), 2 * kLayers);
  // The first few were not timed, since nobody knew yet that they repeat.
  std::size_t exact = 0;
  for (std::size_t i = 0; i < 2 * kLayers; ++i) {
    exact += policy_.seen.steps[i].duration == Nanoseconds(100 + i) ? 1 : 0;
  }
  EXPECT_GE(exact, 2 * kLayers - 2 * SequenceLearner::kContext);
}

TEST_F(ConductorTest, TellsOfEachRunWhenItIsUsedNext) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  EXPECT_EQ(conductor_.next_use(*run, epoch_), epoch_ + 2 * kLayers - 1);
  launch(works_[1], make_run(), true);
  EXPECT_EQ(conductor_.next_use(*run, epoch_), epoch_ + 2 * kLayers - 2);
}

TEST_F(ConductorTest, CountsTheWayToTheNextUseInLaunchesWhateverMakesEpochsBetween) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  epoch_ += 100 * kLayers;  // as fences do
  launch(works_[1], make_run(), true);
  EXPECT_EQ(conductor_.next_use(*run, epoch_), epoch_ + 2 * kLayers - 2);
}

TEST_F(ConductorTest, CeasesAtOnceWhenTheProgramDoesSomethingElse) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  forget_orders();
  launch(works_[2 * kLayers], make_run(), true);
  EXPECT_FALSE(conductor_.leads());
  EXPECT_TRUE(left_.empty() && came_.empty());
  EXPECT_EQ(conductor_.next_use(*run, epoch_), 0u);
}

TEST_F(ConductorTest, LeadsAgainSoonAfterABreak) {
  for (int i = 0; i < 3; ++i) iterate();
  for (int i = 0; i < 5; ++i) launch(works_[2 * kLayers], make_run(), true);
  iterate();
  EXPECT_TRUE(conductor_.leads());
}

TEST_F(ConductorTest, TakesOneLargePageForARunLikeOthers) {
  DeviceRun* const large = make_run({1, 0});
  for (int i = 0; i < 3; ++i) {
    iterate();
    launch(works_[2 * kLayers], large, true);
  }
  EXPECT_EQ(policy_.seen.runs.size(), kLayers + 1);
}

TEST_F(ConductorTest, TellsThePolicyWhatCanBeRemadeAndTheEngineWhatShallBe) {
  constexpr std::uint64_t kCost = 321;
  policy_.to = Away::kRegenerated;
  for (int i = 0; i < 4; ++i) {
    std::vector<DeviceRun*> activations;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      activations.push_back(make_run());
      launch(works_[layer], activations.back(), true);
      if (layer % 2 == 0) activations.back()->remade_in.store(kCost);  // as its callback is set
    }
    for (std::size_t layer = kLayers; layer-- > 0;) {
      launch(works_[2 * kLayers - 1 - layer], activations[layer], false);
    }
  }
  std::size_t remakable = 0;
  for (const IterationRun& run : policy_.seen.runs) remakable += run.regenerate == Nanoseconds(kCost) ? 1 : 0;
  EXPECT_EQ(remakable, kLayers / 2);
  ASSERT_FALSE(left_.empty());
  for (const Conductor::Order& leave : left_) EXPECT_EQ(leave.to, Away::kRegenerated);
}

// Another policy, in the middle of what the first one has planned.
class NextPolicyTest : public ConductorTest {
 protected:
  NextPolicyTest() { next_.to = Away::kRegenerated; }  // tells its orders from those of the first

  EveryGap next_;
  FirstStrategy next_planner_{next_};
};

TEST_F(NextPolicyTest, PlansAtOnceWhatWasLearnedUnderTheOneBefore) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  launch(works_[0], run, true);
  ASSERT_NE(conductor_.next_use(*run, epoch_), 0u);
  conductor_.set_policy(next_, next_planner_);
  EXPECT_FALSE(conductor_.leads());
  EXPECT_EQ(&conductor_.decider(), &next_);
  EXPECT_EQ(conductor_.next_use(*run, epoch_), 0u);
  EXPECT_TRUE(conductor_.wants_plan());

  forget_orders();
  launch(works_[1], make_run(), true);
  EXPECT_TRUE(conductor_.leads());
  EXPECT_EQ(&conductor_.decider(), &next_);
  ASSERT_EQ(next_.seen.steps.size(), policy_.seen.steps.size());
  for (std::size_t i = 0; i < next_.seen.steps.size(); ++i) {
    EXPECT_EQ(next_.seen.steps[i].duration, policy_.seen.steps[i].duration);
  }
  ASSERT_FALSE(left_.empty());
  for (const Conductor::Order& leave : left_) EXPECT_EQ(leave.to, Away::kRegenerated);
}

TEST_F(NextPolicyTest, IsAskedInsteadOfTheOneThatHasNotAnsweredYet) {
  class Pondering final : public Planner {
   public:
    void ask(const Iteration& iteration, const Machine&) override { steps = iteration.steps.size(); }
    std::optional<Strategy> answer() override { return std::nullopt; }
    std::size_t steps = 0;
  } pondering;
  conductor_.set_policy(policy_, pondering);
  for (int i = 0; i < 4; ++i) iterate();
  ASSERT_EQ(pondering.steps, 2 * kLayers);
  EXPECT_FALSE(conductor_.leads());
  conductor_.set_policy(next_, next_planner_);
  launch(works_[0], make_run(), true);
  EXPECT_EQ(next_.seen.steps.size(), 2 * kLayers);
  EXPECT_TRUE(conductor_.leads());
}

TEST_F(NextPolicyTest, WaitsForTheDurationsThatTheOneBeforeWaitedFor) {
  iterate();
  std::size_t launched = 0;
  while (policy_.seen.steps.empty()) {
    conductor_.set_policy(policy_, planner_);  // none at all, as long as nothing is known
    launch(works_[launched % kLayers], make_run(), true);
    ASSERT_LT(++launched, 10 * kLayers);
  }
  std::size_t exact = 0;
  for (const IterationStep& step : policy_.seen.steps) exact += step.duration >= Nanoseconds(100) ? 1 : 0;
  EXPECT_EQ(exact, policy_.seen.steps.size());
}

TEST_F(NextPolicyTest, IsNotAskedForAnIterationThatGaveWayToOneTooLongToPlan) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const run = make_run();
  const std::vector<char> works(Conductor::kMaxSteps + 1);
  Conductor::Orders orders;
  for (int round = 0; round < 3; ++round) {
    for (const char& work : works) {
      conductor_.log().note(&work, std::span(&run, 1), ++epoch_, false, std::nullopt);
      if (epoch_ % 1024 == 0) conductor_.read(orders);
    }
  }
  conductor_.read(orders);
  conductor_.set_policy(next_, next_planner_);
  EXPECT_FALSE(conductor_.wants_plan());
}

TEST_F(ConductorTest, LeavesRunsOfOneBasePageOutOfIt) {
  DeviceRun* const small = make_run({0, 1});
  for (int i = 0; i < 3; ++i) {
    iterate();
    launch(works_[2 * kLayers], small, true);
  }
  EXPECT_EQ(policy_.seen.runs.size(), kLayers);
  EXPECT_EQ(policy_.seen.steps.size(), 2 * kLayers + 1);
  EXPECT_EQ(conductor_.next_use(*small, epoch_), 0u);
}

TEST_F(ConductorTest, TellsOfRunsOfOneBasePageApartWhereverTheyAreUsed) {
  DeviceRun* const first = make_run({0, 1});
  DeviceRun* const second = make_run({0, 1});
  for (int i = 0; i < 4; ++i) {
    iterate();
    // One in one iteration, the other or both in the next: the launches are the same.
    std::array both = {first, second};
    launch(works_[2 * kLayers], std::span(both).first(i % 2 == 0 ? 1 : 2), true);
  }
  EXPECT_TRUE(conductor_.leads());
  const SmallRuns& small = policy_.seen.small;
  EXPECT_EQ(small.runs.size(), 2u);
  ASSERT_EQ(small.ends.size(), policy_.seen.steps.size());
  EXPECT_EQ(small.ends.back(), small.uses.size());
  for (const RunUse& use : small.uses) EXPECT_TRUE(use.writes);
}

TEST_F(ConductorTest, NamesNoRunThatIsGone) {
  for (int i = 0; i < 3; ++i) iterate();
  DeviceRun* const gone = make_run();
  launch(works_[0], gone, true);
  conductor_.forget(*gone);
  forget_orders();
  for (std::size_t i = 1; i < kLayers; ++i) launch(works_[i], make_run(), true);
  for (std::size_t i = kLayers; i-- > 0;) {
    launch(works_[2 * kLayers - 1 - i], make_run(), false);
  }
  for (DeviceRun* run : came_) EXPECT_NE(run, gone);
}

}  // namespace
}  // namespace tessera
