#include <gtest/gtest.h>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

constexpr std::size_t kLayers = 12;

// Layers of 4 MiB on a device for eight of them: written in forward, read in reverse order, by identical launches. Six
// iterations of 24 are enough to learn that loop of one launch.
class PlanExecutorTest : public ::testing::Test {
 protected:
  explicit PlanExecutorTest(const ResidencySetup& setup = {.device = 32_MiB, .policy = "auto"}) : machine_(setup) {
    for (std::size_t i = 0; i < kLayers; ++i) {
      const RunShape shape{0, 2};
      layers_.push_back(machine_.residency().runs().add(machine_.reserve(shape), shape, TagId()).take());
      layers_.back()->live.store(1);
    }
  }
  void iterate(std::uint64_t generation) {
    for (DeviceRun* layer : layers_) step(layer, generation, Access::kWrite);
    for (std::size_t i = kLayers; i-- > 0;) step(layers_[i], generation, Access::kRead);
  }
  void step(DeviceRun* layer, std::uint64_t generation, Access access) {
    EXPECT_OK(access == Access::kWrite ? machine_.write(layer, generation) : machine_.check(layer, generation));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    ASSERT_EQ(machine_.valid(), "ok");
  }

  ResidencyMachine machine_;
  std::vector<DeviceRun*> layers_;
};

// Sees the machine that plans are made for.
class Listener final : public Policy {
 public:
  explicit Listener(Machine& heard) : heard_(heard) {}
  std::string_view name() const override { return "listener"; }
  Decision decide(const Snapshot& snapshot) const override { return rest_->decide(snapshot); }
  OffloadPlan plan(const Iteration&, const Machine& machine) const override {
    heard_ = machine;
    return {};
  }

 private:
  Machine& heard_;
  std::unique_ptr<Policy> rest_ = make_policy("lru").take();
};

TEST_F(PlanExecutorTest, BytesAreRightUnderAPlan) {
  for (std::uint64_t i = 1; i <= 8; ++i) iterate(i);
  EXPECT_GT(machine_.residency().figures().stats().bytes_out, Bytes());
}

TEST_F(PlanExecutorTest, RunsMayBeRemovedDuringAPlan) {
  for (std::uint64_t i = 1; i <= 5; ++i) iterate(i);
  for (std::size_t i = 0; i < 3; ++i) step(layers_[i], 6, Access::kWrite);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_OK(machine_.residency().runs().remove(layers_.back()));
    layers_.pop_back();
  }
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kWrite);
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kRead);
}

TEST_F(PlanExecutorTest, BytesAreRightWhilePoliciesAlternate) {
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
  EXPECT_GT(machine_.residency().figures().stats().bytes_out, Bytes());
}

TEST_F(PlanExecutorTest, ANewPolicyPlansWithoutRelearning) {
  class Asked final : public Policy {
   public:
    explicit Asked(std::size_t& steps) : steps_(steps) {}
    std::string_view name() const override { return "asked"; }
    Decision decide(const Snapshot& snapshot) const override { return rest_->decide(snapshot); }
    OffloadPlan plan(const Iteration& iteration, const Machine&) const override {
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

// An iteration knows which of the runs that it uses are pinned.
TEST_F(PlanExecutorTest, SubtractsUnusedPinnedRunsFromThePlanBudget) {
  DeviceRun* const pinned = machine_.add({0, 3});
  EXPECT_OK(machine_.residency().pins().pin(pinned));
  EXPECT_OK(machine_.residency().pins().pin(layers_[0]));
  for (std::uint64_t i = 1; i <= 6; ++i) iterate(i);
  Machine heard;
  machine_.residency().set_policy(std::make_unique<Listener>(heard));
  EXPECT_EQ(heard.device, 32_MiB - 6_MiB - kBasePage) << "and a page for small blocks";
  iterate(7);
}

// In virtual time, on a driver that takes time to map, and waits for copies to the host before.
class PlanExecutorSlowMappings : public PlanExecutorTest {
 protected:
  static constexpr SimCallTimes kCalls{.mapping = Nanoseconds(45'000), .copy_turn = Nanoseconds(1'000'000)};

  PlanExecutorSlowMappings()
      : PlanExecutorTest({.device = 32_MiB,
                          .policy = "auto",
                          .sim = {.memory = 64_MiB,
                                  .inbound = {10'000'000'000, {}},
                                  .outbound = {10'000'000'000, {}},
                                  .calls = kCalls},
                          .virtual_time = true}) {}
};

TEST_F(PlanExecutorSlowMappings, PlansAreMadeForTheTimeThatWasMeasured) {
  for (std::uint64_t i = 1; i <= 6; ++i) iterate(i);
  Machine heard;
  machine_.residency().set_policy(std::make_unique<Listener>(heard));
  EXPECT_EQ(heard.mapping, kCalls.mapping);
  iterate(7);
}

TEST_F(PlanExecutorTest, APinnedRunIsNotEvictedByThePlan) {
  for (std::uint64_t i = 1; i <= 4; ++i) iterate(i);
  EXPECT_OK(machine_.residency().pins().pin(layers_[0]));
  for (std::uint64_t i = 5; i <= 7; ++i) {
    iterate(i);
    EXPECT_EQ(machine_.residency().figures().whereabouts(*layers_[0])[0], 4_MiB);
  }
  EXPECT_OK(machine_.residency().pins().unpin(layers_[0]));
}

// Eight weights used cyclically on a device for five. The plan keeps four of them and evicts the others after their
// use; the program is ahead of its device, so the next victim is still being fetched or in use when the next run needs
// room.
class StrictPlanTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint32_t kWeights = 8, kKept = 4;

  StrictPlanTest() {
    Iteration iteration;
    OffloadPlan plan;
    for (std::uint32_t i = 0; i < kWeights; ++i) {
      weights_.push_back(machine_.add({0, 2}));
      EXPECT_OK(machine_.write(weights_.back(), 1));
      iteration.runs.push_back({.bytes = 4_MiB});
      iteration.uses.push_back({.run = i});
      iteration.steps.push_back({Nanoseconds(1), i, i + 1});
      const Gap gap{.run = i, .after = i, .until = i, .wraps = true};
      if (i >= kKept) plan.push_back({.gap = gap, .back_at = i});
    }
    machine_.residency().activate_plan(iteration, {"test", plan, policy_.get(), GetParam()});
  }
  Bytes sweep(int times) {
    const Bytes before = machine_.residency().figures().stats().bytes_in;
    for (int i = 0; i < times; ++i) {
      for (DeviceRun* weight : weights_) EXPECT_OK(machine_.check(weight, 1));
    }
    EXPECT_OK(machine_.settle());
    return machine_.residency().figures().stats().bytes_in - before;
  }

  std::unique_ptr<Policy> policy_ = make_policy("lru").take();
  ResidencyMachine machine_{
      {.device = 20_MiB,
       .sim = {
           .memory = 64_MiB, .inbound = {.bytes_per_second = 2'000'000'000}, .kernel_time = Nanoseconds(1'000'000)}}};
  std::vector<DeviceRun*> weights_;
};

// Strict: only the four are not fetched again. Otherwise one of those kept may be evicted right after its use, if the
// planned victim is needed sooner.
TEST_P(StrictPlanTest, EvictsPlannedVictimsFirst) {
  sweep(2);
  const Bytes came = sweep(4), planned = 4 * (kWeights - kKept) * 4_MiB;
  EXPECT_GE(came, planned);
  EXPECT_LE(came, GetParam() ? planned : 4 * kWeights * 4_MiB - 4_MiB);
}

INSTANTIATE_TEST_SUITE_P(Strictly, StrictPlanTest, ::testing::Values(false, true));

}  // namespace
}  // namespace tessera
