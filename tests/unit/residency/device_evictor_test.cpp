// Eviction: on demand, ahead of need, and into tiers that are full or failing.
#include <future>

#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

// Writes every run, so that the first ones have to be evicted.
void write_all(ResidencyMachine& machine, const std::vector<tessera::Run*>& runs, std::uint64_t generation = 0) {
  for (auto* run : runs) ASSERT_OK(machine.write(run, generation));
}

void check_all(ResidencyMachine& machine, const std::vector<tessera::Run*>& runs, std::uint64_t generation = 0) {
  for (auto* run : runs) ASSERT_OK(machine.check(run, generation));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(DeviceEvictor, BytesSurviveEvictionToTheHost) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto runs = machine.add_many(12);
  for (std::uint64_t generation = 0; generation < 3; ++generation) {
    write_all(machine, runs, generation);
    check_all(machine, runs, generation);
  }
  EXPECT_GT(machine.residency().figures().stats().evictions, 0U);
  EXPECT_EQ(machine.residency().figures().stats().bytes_file_written, Bytes());
}

TEST(DeviceEvictor, BytesSurviveEvictionToTheFile) {
  ResidencyMachine machine({.device = 8_MiB, .host = 4_MiB, .file = 64_MiB});
  const auto runs = machine.add_many(20);
  for (std::uint64_t generation = 0; generation < 3; ++generation) {
    write_all(machine, runs, generation);
    check_all(machine, runs, generation);
  }
  EXPECT_GT(machine.residency().figures().stats().loads, 0U);
}

TEST(DeviceEvictor, LargePagesSurviveToo) {
  ResidencyMachine machine(
      {.device = 96_MiB, .host = 32_MiB, .staging = 64_MiB, .file = 256_MiB, .sim = {.memory = 128_MiB}});
  const auto runs = machine.add_many(5, {1, 2});
  write_all(machine, runs, 1);
  check_all(machine, runs, 1);
}

TEST(DeviceEvictor, NoHostBudgetAndAFileStillServe) {
  ResidencyMachine machine({.device = 8_MiB, .host = 0_B, .file = 64_MiB});
  const auto runs = machine.add_many(16);
  write_all(machine, runs, 1);
  check_all(machine, runs, 1);
  EXPECT_EQ(machine.tiers().host.usage().used, Bytes());
}

TEST(DeviceEvictor, FullTiersSwapThroughTheStagingReserve) {
  ResidencyMachine machine({.device = 8_MiB, .host = 8_MiB});
  const auto runs = machine.add_many(8);  // every byte of both tiers
  for (std::uint64_t generation = 0; generation < 4; ++generation) {
    write_all(machine, runs, generation);
    check_all(machine, runs, generation);
  }
}

TEST(DeviceEvictor, FullTiersSwapAlsoWithAFullFile) {
  ResidencyMachine machine({.device = 8_MiB, .host = 4_MiB, .file = 8_MiB});
  const auto runs = machine.add_many(10);
  for (std::uint64_t generation = 0; generation < 4; ++generation) {
    write_all(machine, runs, generation);
    check_all(machine, runs, generation);
    check_all(machine, runs, generation);
  }
}

TEST(DeviceEvictor, TwoLargeRunsSwapThroughASmallReserve) {
  ResidencyMachine machine({.device = 16_MiB, .host = 16_MiB, .staging = 4_MiB});
  const auto runs = machine.add_many(2, {0, 8});
  write_all(machine, runs, 1);
  check_all(machine, runs, 1);
  check_all(machine, runs, 1);
}

// Nor in the reserve.
TEST(DeviceEvictor, EvictsBasePagesWhenTheHostCannotTakeALargePage) {
  ResidencyMachine machine({.device = 40_MiB, .host = 16_MiB, .policy = "lru"});
  const auto large = machine.add_many(1, {1, 0});  // the policy's first victim
  write_all(machine, large);
  const auto small = machine.add_many(8);
  write_all(machine, small);
  check_all(machine, small);
  EXPECT_EQ(machine.residency().figures().whereabouts(*large.front())[0], 32_MiB);
  check_all(machine, large);
}

TEST(DeviceEvictor, ADeadRunIsDiscardedWithoutACopy) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto dead = machine.add_many(4);
  write_all(machine, dead);
  for (auto* run : dead) run->live.store(0);
  write_all(machine, machine.add_many(4));
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, Bytes());
  EXPECT_EQ(machine.residency().figures().stats().discards, 4U);
}

TEST(DeviceEvictor, CopyOutsDoNotWaitForTheWorkOnDeadRuns) {
  ResidencyMachine machine({.device = 8_MiB});
  write_all(machine, machine.add_many(3));
  ASSERT_OK(machine.settle());
  auto* dead = machine.add();
  const StreamId busy = machine.stream();
  ASSERT_OK(machine.write(dead, 1, busy));
  HeldKernel held;
  Use use;
  ASSERT_OK(machine.residency().begin_use({&dead, 1}, busy, Access::kRead, Use::Kind::kGate, use));
  ASSERT_OK(held.launch(machine.sim(), busy));
  machine.residency().end_use({&dead, 1}, busy, use);
  dead->live.store(0);
  auto* coming = machine.add({0, 2});  // the dead run's page, and another
  std::future<Status> written = std::async(std::launch::async, [&] { return machine.write(coming, 1); });
  const auto begin = std::chrono::steady_clock::now();
  while (!machine.tiers().host.usage().used && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::yield();
  }
  EXPECT_EQ(machine.tiers().host.usage().used, kBasePage) << "nobody left while the dead one was in use";
  EXPECT_EQ(written.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  held.let_go();
  EXPECT_OK(written.get());
}

TEST(DeviceEvictor, DiscardsADeadRunBeforeWaitingForACopyOut) {
  ResidencyMachine machine({.device = 8_MiB,
                            .options = {.low_percent = 25, .high_percent = 25},
                            .sim = {.memory = 64_MiB, .outbound = {1'000'000, {}}}});
  const auto runs = machine.add_many(4);
  write_all(machine, runs);
  ASSERT_OK(machine.sim().synchronize(DeviceId(0)));
  auto* coming = machine.add();
  machine.residency().advance();
  ASSERT_TRUE(runs[0]->has(PageState::kEvicting));
  runs[3]->live.store(0);
  ASSERT_OK(machine.write(coming, 1));
  EXPECT_TRUE(runs[0]->has(PageState::kEvicting)) << "its copy takes two seconds";
  EXPECT_EQ(machine.residency().figures().stats().discards, 1U);
}

TEST(DeviceEvictor, AReallocatedDeadRunHasPages) {
  ResidencyMachine machine({.device = 8_MiB});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  run->live.store(0);
  write_all(machine, machine.add_many(4));
  run->live.store(1);
  ASSERT_OK(machine.residency().ensure(run, kNoStream, Contents::kUndefined));
  ASSERT_OK(machine.write(run, 2));
  EXPECT_OK(machine.check(run, 2));
}

TEST(DeviceEvictor, EvictsARunPrefetchedForLaterUse) {
  ResidencyMachine machine({.device = 32_MiB, .sim = {.memory = 64_MiB, .inbound = {200'000'000, {}}}});
  auto *now = machine.add({0, 13}), *later = machine.add({0, 3}), *fresh = machine.add();
  for (auto* run : {now, later}) {
    ASSERT_OK(machine.write(run, 1));
    ASSERT_OK(machine.evict(run));
  }
  ASSERT_OK(machine.prefetch(now));
  ASSERT_OK(machine.prefetch(later));
  ASSERT_TRUE(later->has(PageState::kFetching)) << "a page takes ten milliseconds";
  ASSERT_OK(machine.touch({now, fresh}));
  EXPECT_LT(later->bytes_in(PageState::kResident), later->shape.bytes());
  check_all(machine, {now, later}, 1);
}

TEST(DeviceEvictor, FullTiersAreOutOfMemoryAndLoseNothing) {
  ResidencyMachine machine({.device = 8_MiB, .host = 8_MiB, .staging = 0_B});
  const auto runs = machine.add_many(8);
  write_all(machine, runs, 1);
  std::size_t refused = 0;
  for (auto* run : runs) {  // without a reserve nothing can be swapped when all tiers are full
    const Status status = machine.touch({run});
    if (!status.is_ok()) {
      EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.to_string();
      ++refused;
    }
    EXPECT_EQ(machine.valid(), "ok");
  }
  EXPECT_EQ(refused, 4U) << "those on the host";
  ASSERT_OK(machine.residency().runs().remove(runs.back()));
  check_all(machine, {runs.begin(), runs.end() - 1}, 1);
}

TEST(DeviceEvictor, EvictsNothingWhileAllFits) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto runs = machine.add_many(8);
  write_all(machine, runs);
  ASSERT_OK(machine.settle());
  for (int i = 0; i < 10; ++i) machine.residency().advance();
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, Bytes());
  EXPECT_EQ(machine.tiers().device.usage().used, 16_MiB);
}

// A program's cached and live blocks together exceed the device; the live ones alone do not.
TEST(DeviceEvictor, DiscardsDeadRunsAndCopiesNoLiveOnes) {
  ResidencyMachine machine({.device = 16_MiB});
  const auto live = machine.add_many(5), dead = machine.add_many(3), next = machine.add_many(3);
  write_all(machine, live);
  write_all(machine, dead);
  for (auto* run : dead) run->live.store(0);
  ASSERT_OK(machine.settle());
  machine.residency().advance();
  write_all(machine, next);
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, Bytes());
  EXPECT_EQ(machine.residency().figures().stats().discards, 3U);
}

TEST(DeviceEvictor, EvictsToTheWatermarkAheadOfDemand) {
  ResidencyMachine machine({.device = 16_MiB, .options = {.low_percent = 25, .high_percent = 50}});
  const auto runs = machine.add_many(12);
  std::promise<void> go;  // until then no run is idle, so none is evicted
  ASSERT_OK(machine.sim().host_function(StreamId(0), [&go] { go.get_future().wait(); }));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_OK(machine.write(runs[i], 0));
  go.set_value();
  ASSERT_OK(machine.settle());
  machine.residency().advance();
  ASSERT_OK(machine.settle());
  const TierUsage usage = machine.tiers().device.usage();
  EXPECT_GE(usage.capacity - usage.used, 8_MiB);
  const std::uint64_t stalls = machine.residency().figures().stats().stalls;
  ASSERT_OK(machine.write(runs[8], 0));
  EXPECT_EQ(machine.residency().figures().stats().stalls, stalls);
}

TEST(DeviceEvictor, AFullFileIsNoErrorWhileAnotherTierHasRoom) {
  ResidencyMachine machine({.device = 8_MiB, .host = 8_MiB, .file = 4_MiB});
  const auto runs = machine.add_many(9);
  write_all(machine, runs, 1);
  check_all(machine, runs, 1);
}

TEST(DeviceEvictor, FailedFileWritesLoseNothing) {
  ResidencyMachine machine({.device = 8_MiB, .host = 4_MiB, .file = 64_MiB});
  const auto runs = machine.add_many(12);
  machine.file().set_write_outcome(Status(Code::kIo, "disk full"));
  std::vector<tessera::Run*> written;
  for (auto* run : runs) {
    const Status status = machine.write(run, 1);
    if (status.is_ok()) written.push_back(run);
    if (!status.is_ok()) {
      EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.to_string();
    }
  }
  EXPECT_LT(written.size(), runs.size());
  EXPECT_GE(written.size(), 6U);
  EXPECT_EQ(machine.valid(), "ok");
  for (auto* run : written) EXPECT_OK(machine.check(run, 1));
}

}  // namespace
}  // namespace tessera
