#include "residency/eviction/planned_evictions.hpp"

#include <gtest/gtest.h>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

// Two runs used alternately; the plan evicts the first after its use and fetches it for the next.
class PlannedEvictionsTest : public ::testing::Test {
 protected:
  explicit PlannedEvictionsTest(SimOptions sim = {.memory = 64_MiB, .inbound = {.bytes_per_second = 40'000'000}})
      : machine_({.device = 32_MiB, .sim = std::move(sim)}) {}

  // The first is used in two steps, the second in one; the first is offloaded from its second use to its first.
  void follow_three_step_plan(Bytes part = kWholeRun) {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 0}, {.run = 1}};
    iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}, {Nanoseconds(1), 2, 3}};
    const Gap gap{.run = 0, .after = 1, .until = 0, .wraps = true};
    machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0, .part = part}}, policy_.get()});
  }
  // Each is used in two successive steps; the first is offloaded between its second use and its first, and requested
  // with the other's first use.
  void follow_four_step_plan() {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 0}, {.run = 1}, {.run = 1}};
    for (std::uint32_t i = 0; i < 4; ++i) iteration.steps.push_back({Nanoseconds(1), i, i + 1});
    const Gap gap{.run = 0, .after = 1, .until = 0, .wraps = true};
    machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 2}}, policy_.get()});
  }
  // Completes, with all resulting moves, before the next step.
  void step(DeviceRun* run) {
    EXPECT_OK(machine_.check(run, 1));
    for (int i = 0; i < 2; ++i) {
      EXPECT_OK(machine_.settle());
      machine_.residency().advance();
    }
  }
  // Those three steps, each completed before the next.
  void iterate() {
    for (DeviceRun* run : {moved_, moved_, other_}) {
      EXPECT_OK(machine_.check(run, 1));
      EXPECT_OK(machine_.settle());
      machine_.residency().advance();
    }
    EXPECT_OK(machine_.settle());
    machine_.residency().advance();
  }
  void activate_plan() {
    EXPECT_OK(machine_.write(moved_, 1));
    EXPECT_OK(machine_.write(other_, 1));
    EXPECT_OK(machine_.evict(moved_));
    Iteration iteration;
    iteration.runs = {{.bytes = 4_MiB}, {.bytes = 4_MiB}};
    iteration.uses = {{.run = 0}, {.run = 1}};
    iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}};
    const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
    machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0}}, policy_.get()});
  }
  Bytes on_device(const DeviceRun* run) { return machine_.residency().figures().whereabouts(*run)[0]; }

  std::unique_ptr<Policy> policy_ = make_policy("lru").take();
  ResidencyMachine machine_;
  DeviceRun* moved_ = machine_.add({0, 2});
  DeviceRun* other_ = machine_.add({0, 2});
};

TEST_F(PlannedEvictionsTest, EvictsARunFetchedAfterItsDueStep) {
  activate_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();  // 4 MiB at 40 MB/s
  ASSERT_TRUE(moved_->is_fetching());
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), 4_MiB);
  machine_.residency().advance();
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), Bytes());
  EXPECT_OK(machine_.check(other_, 1));
}

TEST_F(PlannedEvictionsTest, KeepsARunThatOnlyThePreviousPlanEvicts) {
  activate_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();        // its eviction waits for its fetch
  EXPECT_OK(machine_.check(other_, 1));  // not read yet: the next plan is followed as soon as it is made
  ASSERT_TRUE(moved_->is_fetching());
  machine_.residency().set_policy(make_policy("lru").take());
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(on_device(moved_), 4_MiB);
}

TEST_F(PlannedEvictionsTest, StartsADueEvictionAtItsLaunch) {
  follow_three_step_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();  // the engine notices that the plan is being followed
  EXPECT_FALSE(moved_->has(PageState::kEvicting));
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_TRUE(moved_->has(PageState::kEvicting));
}

TEST_F(PlannedEvictionsTest, EvictsOnlyThePlannedPart) {
  follow_three_step_plan(2_MiB);
  for (int i = 0; i < 2; ++i) {
    iterate();
    EXPECT_EQ(on_device(moved_), 2_MiB);
  }
}

// As when the program declares that it no longer announces its uses.
TEST_F(PlannedEvictionsTest, EvictsNothingWithoutAutomatic) {
  follow_three_step_plan();
  iterate();
  ASSERT_EQ(on_device(moved_), Bytes()) << "which the plan does else";
  ASSERT_OK(machine_.residency().automatic().set(false));
  for (int i = 0; i < 2; ++i) {
    iterate();
    EXPECT_EQ(on_device(moved_), 4_MiB);
  }
  ASSERT_OK(machine_.residency().automatic().set(true));
  iterate();
  EXPECT_EQ(on_device(moved_), Bytes());
}

TEST_F(PlannedEvictionsTest, DropsPendingEvictionsWhenAutomaticIsSwitchedOff) {
  activate_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();
  ASSERT_TRUE(moved_->is_fetching()) << "so its order to leave waits";
  ASSERT_OK(machine_.residency().automatic().set(false));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(machine_.settle());
    machine_.residency().advance();
  }
  EXPECT_EQ(on_device(moved_), 4_MiB);
}

// A copy out takes 100 ms.
class SlowEvictionTest : public PlannedEvictionsTest {
 protected:
  SlowEvictionTest() : PlannedEvictionsTest({.memory = 64_MiB, .outbound = {.bytes_per_second = 40'000'000}}) {}
};

TEST_F(SlowEvictionTest, KeepsAnEvictingRunWhenAutomaticIsSwitchedOff) {
  follow_three_step_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_OK(machine_.check(moved_, 1));
  ASSERT_TRUE(moved_->has(PageState::kEvicting));
  ASSERT_OK(machine_.residency().automatic().set(false));
  EXPECT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_EQ(on_device(moved_), 4_MiB);
  EXPECT_OK(machine_.launch(moved_, 1, StreamId(0), Access::kRead));  // unannounced
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(PlannedEvictionsTest, EvictionCancelsAnEarlierPlannedFetch) {
  follow_four_step_plan();
  step(moved_);
  step(moved_);
  ASSERT_EQ(on_device(moved_), Bytes());
  DeviceRun* const blocker = machine_.add({0, 14});
  ASSERT_OK(machine_.residency().pins().pin(blocker));
  step(other_);
  ASSERT_EQ(on_device(moved_), Bytes()) << "there is no room to come back";
  ASSERT_OK(machine_.evict(moved_));
  ASSERT_OK(machine_.residency().runs().remove(blocker));
  machine_.residency().advance();
  ASSERT_OK(machine_.settle());
  machine_.residency().advance();
  EXPECT_EQ(on_device(moved_), Bytes());
  EXPECT_OK(machine_.check(other_, 1));
}

// Kernels of 50 ms: an eviction that waited for all queued work would take place after a second.
class SlowKernelsTest : public PlannedEvictionsTest {
 protected:
  SlowKernelsTest()
      : PlannedEvictionsTest(
            {.memory = 64_MiB, .inbound = {.bytes_per_second = 400'000'000}, .kernel_time = Nanoseconds(50'000'000)}) {}
};

TEST_F(SlowKernelsTest, AnEvictionDoesNotWaitForWorkQueuedAfterIt) {
  activate_plan();
  EXPECT_OK(machine_.check(moved_, 1));
  machine_.residency().advance();
  ASSERT_TRUE(moved_->is_fetching());
  for (int i = 0; i < 20; ++i) EXPECT_OK(machine_.launch(other_, 1, StreamId(0), Access::kRead));
  const EventId all = machine_.sim().create_event(DeviceId(0)).take();
  EXPECT_OK(machine_.sim().record_event(all, StreamId(0)));
  while (on_device(moved_) && machine_.sim().query(all).code() == Code::kNotReady) {
    machine_.residency().advance();
  }
  EXPECT_EQ(machine_.sim().query(all).code(), Code::kNotReady) << "it left when all was over";
  EXPECT_OK(machine_.sim().destroy_event(all));
}

// Room comes from a run that the program has freed and with work still queued on it.
TEST_F(SlowKernelsTest, AFetchTakesTheRoomOfAFreedRunOnceItsWorkIsDone) {
  follow_four_step_plan();
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
  while (machine_.residency().has_work()) machine_.residency().advance();  // as the pump does while the program waits
  EXPECT_EQ(on_device(moved_), 4_MiB);
  EXPECT_EQ(machine_.sim().query(all).code(), Code::kNotReady) << "it came when all was over";
  EXPECT_OK(machine_.sim().destroy_event(all));
}

// A run still being fetched when its planned eviction is due, so that the eviction waits; and a freed run with work
// queued behind.
class SlowFetchTest : public PlannedEvictionsTest {
 protected:
  SlowFetchTest()
      : PlannedEvictionsTest({.memory = 64_MiB,
                              .inbound = {.bytes_per_second = 40'000'000},
                              .outbound = {.bytes_per_second = 40'000'000},
                              .kernel_time = Nanoseconds(50'000'000)}) {}
};

TEST_F(SlowFetchTest, StartsADueEvictionBeforeWaitingForLaterWork) {
  activate_plan();
  EXPECT_OK(machine_.write(moved_, 1));
  DeviceRun* const freed = machine_.add({0, 10});
  EXPECT_OK(machine_.residency().ensure(freed, StreamId(0), Contents::kUndefined));
  ASSERT_TRUE(moved_->is_fetching());
  EXPECT_OK(machine_.launch(freed, 1, StreamId(0), Access::kWrite));
  machine_.residency().note_free(freed, StreamId(0));
  freed->live.store(0);
  DeviceRun* const wanted = machine_.add({0, 10});
  EXPECT_OK(machine_.residency().ensure(wanted, StreamId(0), Contents::kUndefined));
  EXPECT_FALSE(moved_->has(PageState::kResident)) << "its copy waited until that was over";
  EXPECT_OK(machine_.settle());
}

}  // namespace
}  // namespace tessera
