// Evicting and fetching whole tags.
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

const TagId kWeights(1);
const TagId kCache(2);

// Live runs of a tag, each written once.
std::vector<Run*> written(ResidencyMachine& machine, TagId tag, std::size_t count, std::uint64_t generation = 1) {
  std::vector<Run*> runs;
  const RunShape shape{0, 1};
  for (std::size_t i = 0; i < count; ++i) {
    Run* run = machine.residency().runs().add(machine.reserve(shape), shape, tag).take();
    run->live.store(1);
    EXPECT_OK(machine.write(run, generation));
    runs.push_back(run);
  }
  return runs;
}

void check_each(ResidencyMachine& machine, const std::vector<Run*>& runs, std::uint64_t generation = 1) {
  for (Run* run : runs) EXPECT_OK(machine.check(run, generation));
}

TEST(ResidencySleep, MovesTheRunsOfItsTagAndNoOthers) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 3);
  const auto cache = written(machine, kCache, 2);
  const Moved moved = machine.residency().sleeper().sleep(kWeights).take();
  EXPECT_EQ(moved.moved, 6_MiB);
  EXPECT_EQ(moved.stayed, Bytes());
  for (auto* run : weights) EXPECT_EQ(machine.residency().figures().whereabouts(*run)[2], 2_MiB);
  for (auto* run : cache) EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(ResidencySleep, ReturnsTheDeviceMemoryToTheDriver) {
  ResidencyMachine machine;
  written(machine, kWeights, 3);
  const Bytes before = machine.sim().memory_info(DeviceId(0)).take().free;
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  EXPECT_EQ(machine.tiers().device.usage().spare, Bytes());
  EXPECT_EQ(machine.sim().memory_info(DeviceId(0)).take().free, before + 6_MiB);
}

TEST(ResidencySleep, WakingBringsEveryByteBackAndIsNotLate) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 5, 7);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  const Moved moved = machine.residency().sleeper().wake(kWeights).take();
  EXPECT_EQ(moved.moved, 10_MiB);
  EXPECT_EQ(moved.stayed, Bytes());
  for (auto* run : weights) EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.residency().figures().stats().late_fetches, 0U);
  check_each(machine, weights, 7);
}

TEST(ResidencySleep, WithoutATagMeansAll) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 2);
  const auto cache = written(machine, kCache, 2);
  EXPECT_EQ(machine.residency().sleeper().sleep(std::nullopt).take().moved, 8_MiB);
  EXPECT_EQ(machine.residency().sleeper().wake(std::nullopt).take().moved, 8_MiB);
  check_each(machine, weights);
  check_each(machine, cache);
}

TEST(ResidencySleep, AUseFetchesOnlyItsOwnRun) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 3);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  ASSERT_OK(machine.check(weights[1], 1));
  EXPECT_EQ(weights[0]->missing.load(), 1U);
  EXPECT_EQ(weights[2]->missing.load(), 1U);
  EXPECT_EQ(machine.residency().sleeper().wake(kWeights).take().moved, 4_MiB);
}

TEST(ResidencySleep, WaitsForTheWorkThatUsesTheRuns) {
  ResidencyMachine machine;
  const StreamId stream = machine.stream();
  auto* run = written(machine, kWeights, 1).front();
  ASSERT_OK(machine.settle());  // the stream does not wait for the writing stream
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_OK(machine.write(run, i, stream));
    ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
    EXPECT_EQ(run->missing.load(), 1U);
    ASSERT_OK(machine.check(run, i, stream));
  }
}

TEST(ResidencySleep, PinnedRunsStayAndAreCounted) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 3);
  ASSERT_OK(machine.residency().pins().pin(weights[0]));
  const Moved moved = machine.residency().sleeper().sleep(kWeights).take();
  EXPECT_EQ(moved.moved, 4_MiB);
  EXPECT_EQ(moved.stayed, 2_MiB);
  EXPECT_EQ(weights[0]->missing.load(), 0U);
  ASSERT_OK(machine.residency().pins().unpin(weights[0]));
}

// A kernel waits for the program, and what recomputes a run is queued behind it.
TEST(ResidencySleep, ARunThatIsRecomputedByWorkWithoutEndStaysAndIsCounted) {
  HeldKernel held;
  ResidencyMachine machine({.patience = Nanoseconds(10'000'000)});
  const auto weights = written(machine, kWeights, 3);
  ASSERT_OK(machine.evict(weights[0]));  // what copies take is known then, and recomputing is cheaper
  ASSERT_OK(machine.check(weights[0], 1));
  ASSERT_OK(machine.settle());
  tessera::Run* const made = weights[1];
  ASSERT_OK(machine.residency().recomputation().set(
      made, {[&](StreamId on) { return machine.launch(made, 1, on, Access::kWrite); }, Nanoseconds(1)}));
  ASSERT_OK(machine.evict(made));
  ASSERT_TRUE(made->has(PageState::kGone));
  const StreamId stream = machine.stream();
  ASSERT_OK(held.launch(machine.sim(), stream));
  ASSERT_OK(machine.check(made, 1, stream));
  ASSERT_TRUE(made->has(PageState::kRecomputing));
  const Moved moved = machine.residency().sleeper().sleep(kWeights).take();
  EXPECT_EQ(moved.moved, 4_MiB);
  EXPECT_EQ(moved.stayed, 2_MiB);
  EXPECT_TRUE(made->has(PageState::kRecomputing));
  EXPECT_EQ(machine.valid(), "ok");
  held.let_go();
  ASSERT_OK(machine.settle());
  check_each(machine, weights);
}

TEST(ResidencySleep, ARunFreedWhileAsleepCostsNothingToWake) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 2);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  weights[0]->live.store(0);
  EXPECT_EQ(machine.residency().sleeper().wake(kWeights).take().moved, 2_MiB);
  EXPECT_EQ(weights[0]->missing.load(), 1U);
  ASSERT_OK(machine.residency().runs().remove(weights[0]));
  ASSERT_OK(machine.check(weights[1], 1));
}

TEST(ResidencySleep, ARunRemovedWhileAsleepReleasesItsFrames) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 2);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  ASSERT_OK(machine.residency().runs().remove(weights[0]));
  EXPECT_EQ(machine.tiers().host.usage().used, 2_MiB);
}

TEST(ResidencySleep, DeadRunsLoseTheirFramesWithoutACopy) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 2);
  for (auto* run : weights) run->live.store(0);
  EXPECT_EQ(machine.residency().sleeper().sleep(kWeights).take().moved, 4_MiB);
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, Bytes());
}

TEST(ResidencySleep, SpillsToTheFileWhenTheHostIsFull) {
  ResidencyMachine machine({.host = 4_MiB, .file = 64_MiB});
  const auto weights = written(machine, kWeights, 7, 3);
  EXPECT_EQ(machine.residency().sleeper().sleep(kWeights).take().moved, 14_MiB);
  ASSERT_OK(machine.settle());
  EXPECT_GT(machine.tiers().file.usage().used, Bytes());
  EXPECT_EQ(machine.residency().sleeper().wake(kWeights).take().moved, 14_MiB);
  check_each(machine, weights, 3);
}

TEST(ResidencySleep, AnEarlierPrefetchDoesNotFetchASleepingRun) {
  ResidencyMachine machine({.host = 0_B, .file = 64_MiB});
  const auto weights = written(machine, kWeights, 1, 3);
  ASSERT_OK(machine.evict(weights[0]));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.prefetch(weights[0]));
  ASSERT_TRUE(weights[0]->has(PageState::kLoading));
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().figures().whereabouts(*weights[0])[0], Bytes());
  check_each(machine, weights, 3);
}

TEST(ResidencySleep, FailsWithoutRoomInLowerTiersAndLosesNothing) {
  ResidencyMachine machine({.host = 4_MiB, .staging = 2_MiB});
  const auto weights = written(machine, kWeights, 7);
  EXPECT_EQ(machine.residency().sleeper().sleep(kWeights).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(machine.valid(), "ok");
  check_each(machine, weights);
}

TEST(ResidencySleep, RunsThatDoNotFitAtWakeStayEvicted) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto weights = written(machine, kWeights, 7);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  const auto cache = written(machine, kCache, 6);
  for (auto* run : cache) ASSERT_OK(machine.residency().pins().pin(run));
  const Moved moved = machine.residency().sleeper().wake(kWeights).take();
  EXPECT_EQ(moved.moved, 4_MiB);
  EXPECT_EQ(moved.stayed, 10_MiB);
  for (auto* run : cache) ASSERT_OK(machine.residency().pins().unpin(run));
  check_each(machine, weights);
}

TEST(ResidencySleep, WakeEvictsOtherTags) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto weights = written(machine, kWeights, 7, 4);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  const auto cache = written(machine, kCache, 7, 5);
  const Moved moved = machine.residency().sleeper().wake(kWeights).take();
  EXPECT_EQ(moved.moved, 14_MiB);
  for (auto* run : weights) EXPECT_EQ(run->missing.load(), 0U);
  check_each(machine, weights, 4);
  check_each(machine, cache, 5);
}

TEST(ResidencySleep, AFailedCopyIsReportedAndTheBytesStay) {
  ResidencyMachine machine;
  const auto weights = written(machine, kWeights, 3);
  machine.fault().clear();
  machine.fault().fail({DriverCall::kCopyOut, 1, Status(Code::kDriver, "no copy"), false});
  EXPECT_FALSE(machine.residency().sleeper().sleep(kWeights).is_ok());
  machine.fault().clear();
  check_each(machine, weights);
  EXPECT_OK(machine.residency().sleeper().sleep(kWeights).status());
}

TEST(ResidencySleep, WithoutAutomaticNoLiveRunIsEvicted) {
  ResidencyMachine machine({.device = 16_MiB});
  ASSERT_OK(machine.residency().automatic().set(false));
  const auto weights = written(machine, kWeights, 8);
  auto* extra = machine.add();
  EXPECT_EQ(machine.write(extra, 1).code(), Code::kOutOfMemory);
  for (auto* run : weights) EXPECT_EQ(run->missing.load(), 0U);
  ASSERT_OK(machine.residency().sleeper().sleep(kWeights).status());
  EXPECT_OK(machine.write(extra, 1));
  ASSERT_OK(machine.residency().automatic().set(true));
  check_each(machine, weights);
}

TEST(ResidencySleep, WithoutAutomaticWaitsForUnannouncedWork) {
  ResidencyMachine machine;
  ASSERT_OK(machine.residency().automatic().set(false));
  const StreamId stream = machine.stream();
  auto* run = written(machine, kWeights, 1).front();
  ASSERT_OK(machine.settle());  // the stream does not wait for the writing stream
  for (std::uint64_t i = 2; i < 12; ++i) {
    ASSERT_OK(machine.launch(run, i, stream, Access::kWrite));
    ASSERT_OK(i % 2 == 0 ? machine.residency().sleeper().sleep(kWeights).status() : machine.evict(run));
    ASSERT_OK(machine.residency().sleeper().wake(kWeights).status());
    ASSERT_OK(machine.launch(run, i, stream, Access::kRead));
  }
}

TEST(ResidencySleep, ThreadsMayUseRunsDuringSleepAndWake) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto weights = written(machine, kWeights, 6, 0);
  ASSERT_OK(machine.settle());  // the users' streams do not wait for the writing stream
  {
    std::vector<std::jthread> users;
    for (std::size_t i = 0; i < 2; ++i) {
      users.emplace_back([&machine, &weights, stream = machine.stream(), i] {
        for (std::uint64_t n = 1; n <= 100; ++n) {
          EXPECT_OK(machine.write(weights[i], n, stream));
          EXPECT_OK(machine.check(weights[i], n, stream));
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      EXPECT_OK(machine.residency().sleeper().sleep(kWeights).status());
      EXPECT_OK(machine.residency().sleeper().wake(kWeights).status());
    }
  }
  for (std::size_t i = 2; i < weights.size(); ++i) EXPECT_OK(machine.check(weights[i], 0));
}

}  // namespace
}  // namespace tessera
