#include <gtest/gtest.h>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a Run() of its own

constexpr std::size_t kLayers = 12;

// Layers of 4 MiB on a device for eight of them: written forwards, read backwards, by launches that are all alike. Six
// iterations of 24 are enough to learn that loop of one launch.
class FollowerTest : public ::testing::Test {
 protected:
  FollowerTest() {
    for (std::size_t i = 0; i < kLayers; ++i) {
      const RunShape shape{0, 2};
      layers_.push_back(machine_.residency().add(machine_.reserve(shape), shape, TagId()).take());
      layers_.back()->live.store(1);
    }
  }
  void iterate(std::uint64_t generation) {
    for (DeviceRun* layer : layers_) step(layer, generation, Access::kWrite);
    for (std::size_t i = kLayers; i-- > 0;) step(layers_[i], generation, Access::kRead);
  }
  void step(DeviceRun* layer, std::uint64_t generation, Access access) {
    EXPECT_OK(access == Access::kWrite ? machine_.write(layer, generation)
                                       : machine_.check(layer, generation));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    ASSERT_EQ(machine_.valid(), "ok");
  }

  ResidencyMachine machine_{{.device = 32_MiB, .policy = "auto"}};
  std::vector<DeviceRun*> layers_;
};

TEST_F(FollowerTest, EveryByteIsRightWhileAPlanIsFollowed) {
  for (std::uint64_t i = 1; i <= 8; ++i) iterate(i);
  EXPECT_GT(machine_.residency().stats().bytes_out, Bytes());
}

TEST_F(FollowerTest, RunsMayGoAwayInTheMiddleOfAPlan) {
  for (std::uint64_t i = 1; i <= 5; ++i) iterate(i);
  for (std::size_t i = 0; i < 3; ++i) step(layers_[i], 6, Access::kWrite);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_OK(machine_.residency().remove(layers_.back()));
    layers_.pop_back();
  }
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kWrite);
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kRead);
}

TEST_F(FollowerTest, EveryByteIsRightWhilePoliciesTakeTurns) {
  std::size_t turn = 0;
  for (std::uint64_t i = 1; i <= 8; ++i) {
    for (DeviceRun* layer : layers_) step(layer, i, Access::kWrite);
    const std::string_view name = policies()[turn++ % policies().size()].name;
    machine_.residency().set_policy(make_policy(name).take());
    ASSERT_EQ(machine_.valid(), "ok");
    for (std::size_t layer = kLayers; layer-- > 0;) {
      if (layer % 4 == 0) {
        machine_.residency().set_policy(make_policy(policies()[turn++ % policies().size()].name).take());
      }
      step(layers_[layer], i, Access::kRead);
    }
  }
  EXPECT_GT(machine_.residency().stats().bytes_out, Bytes());
}

TEST_F(FollowerTest, TheNextPolicyPlansWithoutSeeingTheIterationAgain) {
  class Asked final : public Policy {
   public:
    explicit Asked(std::size_t& steps) : steps_(steps) {}
    std::string_view name() const override { return "asked"; }
    Decision decide(const Snapshot& snapshot) const override { return rest_->decide(snapshot); }
    AbsencePlan plan(const Iteration& iteration, const Machine&) const override {
      steps_ = iteration.steps.size();
      return {};
    }

   private:
    std::size_t& steps_;
    std::unique_ptr<Policy> rest_ = make_policy("lru").take();
  };
  for (std::uint64_t i = 1; i <= 6; ++i) iterate(i);
  std::size_t steps = 0;
  const Guide before = machine_.residency().set_policy(std::make_unique<Asked>(steps));
  EXPECT_EQ(before.policy->name(), "auto");
  EXPECT_GT(steps, 0u);
  iterate(7);
}

// Pinned runs that the iteration uses are known as such by it.
TEST_F(FollowerTest, APlanIsMadeWithoutTheRoomOfPinnedRunsThatTheIterationDoesNotUse) {
  class Listener final : public Policy {
   public:
    explicit Listener(Bytes& device) : device_(device) {}
    std::string_view name() const override { return "listener"; }
    Decision decide(const Snapshot& snapshot) const override { return rest_->decide(snapshot); }
    AbsencePlan plan(const Iteration&, const Machine& machine) const override {
      device_ = machine.device;
      return {};
    }

   private:
    Bytes& device_;
    std::unique_ptr<Policy> rest_ = make_policy("lru").take();
  };
  DeviceRun* const pinned = machine_.add({0, 3});
  EXPECT_OK(machine_.residency().pin(pinned));
  EXPECT_OK(machine_.residency().pin(layers_[0]));
  for (std::uint64_t i = 1; i <= 6; ++i) iterate(i);
  Bytes device;
  machine_.residency().set_policy(std::make_unique<Listener>(device));
  EXPECT_EQ(device, 32_MiB - 6_MiB - kBasePage) << "and a page for small blocks";
  iterate(7);
}

TEST_F(FollowerTest, APinnedRunStaysWhateverThePlanSays) {
  for (std::uint64_t i = 1; i <= 4; ++i) iterate(i);
  EXPECT_OK(machine_.residency().pin(layers_[0]));
  for (std::uint64_t i = 5; i <= 7; ++i) {
    iterate(i);
    EXPECT_EQ(machine_.residency().whereabouts(*layers_[0])[0], 4_MiB);
  }
  EXPECT_OK(machine_.residency().unpin(layers_[0]));
}

// Two runs in turn; the plan sends the first away after its use and back when it is needed.
class LeadTest : public ::testing::Test {
 protected:
  explicit LeadTest(SimOptions sim = {.memory = 64_MiB, .inbound = {.bytes_per_second = 40'000'000}})
      : machine_({.device = 32_MiB, .sim = std::move(sim)}) {}

  // The first is used in two steps, the second in one; the first is away from its second use to its first.
  void lead_in_three_steps(Bytes part = kWholeRun) {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 0}, {.run = 1}};
    iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}, {Nanoseconds(1), 2, 3}};
    const Gap gap{.run = 0, .after = 1, .until = 0, .wraps = true};
    machine_.residency().lead(iteration, {"test", {{.gap = gap, .back_at = 0, .part = part}}, policy_.get()});
  }
  // Each is used in two steps in turn; the first is away between its second use and its first, and called back with the
  // first of the other.
  void lead_in_four_steps() {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 0}, {.run = 1}, {.run = 1}};
    for (std::uint32_t i = 0; i < 4; ++i) iteration.steps.push_back({Nanoseconds(1), i, i + 1});
    const Gap gap{.run = 0, .after = 1, .until = 0, .wraps = true};
    machine_.residency().lead(iteration, {"test", {{.gap = gap, .back_at = 2}}, policy_.get()});
  }
  // Over, with all that it leads to, before the next.
  void step(DeviceRun* run) {
    EXPECT_OK(machine_.check(run, 1));
    for (int i = 0; i < 2; ++i) {
      EXPECT_OK(machine_.settle());
      machine_.residency().advance();
    }
  }
  // Those three steps, each over before the next.
  void iterate() {
    for (DeviceRun* run : {moved_, moved_, other_}) {
      EXPECT_OK(machine_.check(run, 1));
      EXPECT_OK(machine_.settle());
      machine_.residency().advance();
    }
    EXPECT_OK(machine_.settle());
    machine_.residency().advance();
  }
  void lead() {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    EXPECT_OK(machine_.evict(moved_));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 1}};
    iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}};
    const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
    machine_.residency().lead(iteration, {"test", {{.gap = gap, .back_at = 0}}, policy_.get()});
  }
  Bytes on_device(const DeviceRun* run) { return machine_.residency().whereabouts(*run)[0]; }

  std::unique_ptr<Policy> policy_ = make_policy("lru").take();
  ResidencyMachine machine_;
  DeviceRun* moved_ = machine_.add({0, 2});
  DeviceRun* other_ = machine_.add({0, 2});
};

TEST_F(LeadTest, WhoStillArrivesWhenItsTimeToLeaveHasComeLeavesThen) {
  lead();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();  // 4 MiB at 40 MB/s
  ASSERT_TRUE(moved_->arrives());
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), 4_MiB);
  machine_.residency().advance();
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), Bytes());
  EXPECT_OK(machine_.check(other_, 1));
}

TEST_F(LeadTest, WhoWasToLeaveByThePlanBeforeStays) {
  lead();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();  // its order waits for its arrival
  EXPECT_OK(machine_.check(other_, 1));  // not read yet: the next plan is followed as soon as it is made
  ASSERT_TRUE(moved_->arrives());
  machine_.residency().set_policy(make_policy("lru").take());
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), 4_MiB);
}

TEST_F(LeadTest, WhatIsDueWithALaunchIsBegunThere) {
  lead_in_three_steps();
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();  // the plan is found to be followed
  EXPECT_FALSE(moved_->has(PageState::kLeaving));
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_TRUE(moved_->has(PageState::kLeaving));
}

TEST_F(LeadTest, OnlyThePartThatAPlanSendsAwayLeaves) {
  lead_in_three_steps(2_MiB);
  for (int i = 0; i < 2; ++i) {
    iterate();
    EXPECT_EQ(on_device(moved_), 2_MiB);
  }
}

// As the program says that from now on nobody announces what it uses.
TEST_F(LeadTest, APlanSendsNobodyAwayWithoutAutomatic) {
  lead_in_three_steps();
  iterate();
  ASSERT_EQ(on_device(moved_), Bytes()) << "which the plan does else";
  ASSERT_OK(machine_.residency().set_automatic(false));
  for (int i = 0; i < 2; ++i) {
    iterate();
    EXPECT_EQ(on_device(moved_), 4_MiB);
  }
  ASSERT_OK(machine_.residency().set_automatic(true));
  iterate();
  EXPECT_EQ(on_device(moved_), Bytes());
}

TEST_F(LeadTest, WhoWaitsToLeaveStaysWhenAutomaticEnds) {
  lead();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();
  ASSERT_TRUE(moved_->arrives()) << "so its order to leave waits";
  ASSERT_OK(machine_.residency().set_automatic(false));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(machine_.settle());
    machine_.residency().advance();
  }
  EXPECT_EQ(on_device(moved_), 4_MiB);
}

// A copy out takes 100 ms.
class SlowLeaveTest : public LeadTest {
 protected:
  SlowLeaveTest() : LeadTest({.memory = 64_MiB, .outbound = {.bytes_per_second = 40'000'000}}) {}
};

TEST_F(SlowLeaveTest, WhoIsLeavingStaysWhenAutomaticEnds) {
  lead_in_three_steps();
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_OK(machine_.check(moved_, 1));
  ASSERT_TRUE(moved_->has(PageState::kLeaving));
  ASSERT_OK(machine_.residency().set_automatic(false));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_EQ(on_device(moved_), 4_MiB);
  EXPECT_OK(machine_.launch(moved_, 1, StreamId(0), Access::kRead));  // unannounced
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(LeadTest, WhoIsEvictedIsNotCalledBackByAnOrderFromBefore) {
  lead_in_four_steps();
  step(moved_);
  step(moved_);
  ASSERT_EQ(on_device(moved_), Bytes());
  DeviceRun* const in_the_way = machine_.add({0, 14});
  ASSERT_OK(machine_.residency().pin(in_the_way));
  step(other_);
  ASSERT_EQ(on_device(moved_), Bytes()) << "there is no room to come back";
  ASSERT_OK(machine_.evict(moved_));
  ASSERT_OK(machine_.residency().remove(in_the_way));
  machine_.residency().advance();
  ASSERT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_EQ(on_device(moved_), Bytes());
  EXPECT_OK(machine_.check(other_, 1));
}

// Kernels of 50 ms: whoever waited for all that is queued would leave after a second.
class SlowLeadTest : public LeadTest {
 protected:
  SlowLeadTest() : LeadTest({.memory = 64_MiB, .inbound = {.bytes_per_second = 400'000'000},
                             .kernel_time = Nanoseconds(50'000'000)}) {}
};

TEST_F(SlowLeadTest, NobodyWhoWaitsToLeaveWaitsForWhatIsQueuedBehindHim) {
  lead();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();
  ASSERT_TRUE(moved_->arrives());
  for (int i = 0; i < 20; ++i) EXPECT_OK(machine_.launch(other_, 1, StreamId(0), Access::kRead));
  const EventId all = machine_.sim().create_event(DeviceId(0)).take();
  EXPECT_OK(machine_.sim().record_event(all, StreamId(0)));
  while (on_device(moved_) && machine_.sim().query(all).code() == Code::kNotReady) {
    machine_.residency().advance();
  }
  EXPECT_EQ(machine_.sim().query(all).code(), Code::kNotReady) << "it left when all was over";
  EXPECT_OK(machine_.sim().destroy_event(all));
}

// Room comes from a run that the program has freed and whose work is still queued.
TEST_F(SlowLeadTest, WhoComesTakesTheRoomOfAFreedRunWhenTheWorkOnItIsOver) {
  lead_in_four_steps();
  step(moved_);
  step(moved_);
  DeviceRun* const freed = machine_.add({0, 14});
  EXPECT_OK(machine_.residency().ensure(freed, StreamId(0), Contents::kUndefined));
  EXPECT_OK(machine_.launch(freed, 1, StreamId(0), Access::kWrite));
  machine_.residency().note_free(freed, StreamId(0));
  freed->live.store(0);
  EXPECT_OK(machine_.check(other_, 1));
  machine_.residency().advance();
  ASSERT_EQ(on_device(moved_), Bytes()) << "there is no room yet";
  for (int i = 0; i < 20; ++i) EXPECT_OK(machine_.launch(other_, 1, StreamId(0), Access::kRead));
  const EventId all = machine_.sim().create_event(DeviceId(0)).take();
  EXPECT_OK(machine_.sim().record_event(all, StreamId(0)));
  while (machine_.residency().has_work()) machine_.residency().advance();  // as the pump, while the program waits
  EXPECT_EQ(on_device(moved_), 4_MiB);
  EXPECT_EQ(machine_.sim().query(all).code(), Code::kNotReady) << "it came when all was over";
  EXPECT_OK(machine_.sim().destroy_event(all));
}

// Who still arrives when its time to leave has come, so that its order waits; and a freed run whose work is queued behind.
class SlowArrivalTest : public LeadTest {
 protected:
  SlowArrivalTest() : LeadTest({.memory = 64_MiB, .inbound = {.bytes_per_second = 40'000'000},
                                .outbound = {.bytes_per_second = 40'000'000}, .kernel_time = Nanoseconds(50'000'000)}) {}
};

TEST_F(SlowArrivalTest, WhoseTimeHasComeLeavesBeforeWorkBehindItIsWaitedFor) {
  lead();
  EXPECT_OK(machine_.write(moved_, 1));
  DeviceRun* const freed = machine_.add({0, 10});
  EXPECT_OK(machine_.residency().ensure(freed, StreamId(0), Contents::kUndefined));
  ASSERT_TRUE(moved_->arrives());
  EXPECT_OK(machine_.launch(freed, 1, StreamId(0), Access::kWrite));
  machine_.residency().note_free(freed, StreamId(0));
  freed->live.store(0);
  DeviceRun* const wanted = machine_.add({0, 10});
  EXPECT_OK(machine_.residency().ensure(wanted, StreamId(0), Contents::kUndefined));
  EXPECT_FALSE(moved_->has(PageState::kResident)) << "its copy waited until that was over";
  EXPECT_OK(machine_.settle());
}

// Eight weights in a circle on a device for five. The plan keeps four of them, and the others go after their use; the
// program is ahead of its device, so whoever is to go still arrives or is in use when the next one wants room.
class SweepTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint32_t kWeights = 8, kKept = 4;

  SweepTest() {
    Iteration iteration;
    AbsencePlan plan;
    for (std::uint32_t i = 0; i < kWeights; ++i) {
      weights_.push_back(machine_.add({0, 2}));
      EXPECT_OK(machine_.write(weights_.back(), 1));
      iteration.runs.push_back({.bytes = 4_MiB});
      iteration.uses.push_back({.run = i});
      iteration.steps.push_back({Nanoseconds(1), i, i + 1});
      const Gap gap{.run = i, .after = i, .until = i, .wraps = true};
      if (i >= kKept) plan.push_back({.gap = gap, .back_at = i});
    }
    machine_.residency().lead(iteration, {"test", plan, policy_.get(), GetParam()});
  }
  Bytes sweep(int times) {
    const Bytes before = machine_.residency().stats().bytes_in;
    for (int i = 0; i < times; ++i) {
      for (DeviceRun* weight : weights_) EXPECT_OK(machine_.check(weight, 1));
    }
    EXPECT_OK(machine_.settle());
    return machine_.residency().stats().bytes_in - before;
  }

  std::unique_ptr<Policy> policy_ = make_policy("lru").take();
  ResidencyMachine machine_{{.device = 20_MiB,
                             .sim = {.memory = 64_MiB, .inbound = {.bytes_per_second = 2'000'000'000},
                                     .kernel_time = Nanoseconds(1'000'000)}}};
  std::vector<DeviceRun*> weights_;
};

// Strictly, none but the four comes back. Else one of those kept may go, used a moment ago, when the one who is to go
// is needed before it is.
TEST_P(SweepTest, WhoIsToLeaveByPlanLeavesBeforeOthers) {
  sweep(2);
  const Bytes came = sweep(4), planned = 4 * (kWeights - kKept) * 4_MiB;
  EXPECT_GE(came, planned);
  EXPECT_LE(came, GetParam() ? planned : 4 * kWeights * 4_MiB - 4_MiB);
}

INSTANTIATE_TEST_SUITE_P(Strictly, SweepTest, ::testing::Values(false, true));

}  // namespace
}  // namespace tessera
