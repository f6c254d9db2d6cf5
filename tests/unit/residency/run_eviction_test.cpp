#include "residency/eviction/run_eviction.hpp"

#include <array>
#include <chrono>
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(RunEviction, EvictsACleanRunWithoutACopyRepeatedly) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  const Bytes once = machine.residency().figures().stats().bytes_out;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    ASSERT_OK(machine.check(run, 1));
    ASSERT_OK(machine.settle());
    ASSERT_OK(machine.evict(run));
    EXPECT_EQ(machine.residency().figures().stats().bytes_out, once);
    EXPECT_EQ(machine.residency().figures().stats().clean_evictions, 2 * i);
  }
  ASSERT_OK(machine.write(run, 2));
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(machine.residency().figures().stats().bytes_out, once * 2);
  EXPECT_OK(machine.check(run, 2));
}

TEST(RunEviction, APageUsedDuringItsEvictionIsForwarded) {
  ResidencyMachine machine({.device = 8_MiB,
                            .options = {.low_percent = 50, .high_percent = 50},
                            .sim = {.memory = 64_MiB, .inbound = {50'000'000, {}}, .outbound = {50'000'000, {}}}});
  const auto runs = machine.add_many(5);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_OK(machine.write(runs[i], 1));
    ASSERT_OK(machine.sim().synchronize(StreamId(0)));
  }
  machine.residency().advance();  // starts copies, which take 40 ms each
  std::vector<tessera::Run*> leaving;
  for (auto* run : runs) {
    if (run->has(PageState::kEvicting)) leaving.push_back(run);
  }
  ASSERT_FALSE(leaving.empty());
  for (auto* run : leaving) ASSERT_OK(machine.write(run, 2));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().figures().stats().forwards, leaving.size());
  EXPECT_EQ(machine.residency().figures().stats().bytes_in, Bytes());
  for (auto* run : leaving) {
    EXPECT_EQ(run->missing.load(), 0U);
    EXPECT_FALSE(run->pages[0].host.has_value());
    EXPECT_OK(machine.check(run, 2));
  }
}

TEST(RunEviction, EvictingWaitsForTheWorkThatUsesTheRun) {
  ResidencyMachine machine;
  const StreamId stream = machine.stream();
  auto* run = machine.add({0, 3});
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_OK(machine.write(run, i, stream));
    ASSERT_OK(machine.evict(run));
    EXPECT_EQ(run->missing.load(), 3U);
    ASSERT_OK(machine.check(run, i, stream));
  }
}

TEST(RunEviction, QueuesAllCopiesBeforeWaitingForTheFirst) {
  ResidencyMachine machine;
  const std::array<tessera::Run*, 2> runs = {machine.add(), machine.add()};
  const StreamId stream = machine.stream();
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1, stream));
  ASSERT_OK(machine.settle());
  HeldKernel held;
  ASSERT_OK(held.launch(machine.sim(), stream));
  for (auto* run : runs) ASSERT_OK(machine.write(run, 2, stream));
  std::thread evicting([&] { EXPECT_OK(machine.residency().evict(runs)); });
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto queued = [&] { return machine.fault().calls(DriverCall::kCopyOut); };
  while (queued() < 2 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  EXPECT_EQ(queued(), 2U);
  held.let_go();
  evicting.join();
  for (auto* run : runs) ASSERT_OK(machine.check(run, 2, stream));
}

TEST(RunEviction, EvictsARunThatIsBeingFetched) {
  ResidencyMachine machine({.sim = {.memory = 64_MiB, .inbound = {100'000'000, {}}, .outbound = {50'000'000, {}}}});
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  ASSERT_TRUE(run->has(PageState::kFetching));
  ASSERT_OK(machine.evict(run));
  EXPECT_EQ(run->missing.load(), 2U);
}

// As behind a kernel that waits for the program.
TEST(RunEviction, ARunThatIsRecomputedByWorkWithoutEndIsBusyAndStays) {
  HeldKernel held;
  ResidencyMachine machine({.host = 0_B, .staging = 0_B, .patience = Nanoseconds(10'000'000)});  // it is dropped
  const StreamId stream = machine.stream();
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1, stream));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.residency().recomputation().set(
      run, {[&](StreamId on) { return machine.launch(run, 1, on, Access::kWrite); }, Nanoseconds(1)}));
  ASSERT_OK(machine.evict(run));
  ASSERT_TRUE(run->has(PageState::kGone));
  ASSERT_OK(held.launch(machine.sim(), stream));
  ASSERT_OK(machine.check(run, 1, stream));
  ASSERT_TRUE(run->has(PageState::kRecomputing));
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  EXPECT_TRUE(run->has(PageState::kRecomputing));
  held.let_go();
  ASSERT_OK(machine.settle());
  EXPECT_OK(machine.evict(run));
  EXPECT_EQ(run->missing.load(), 1U);
  EXPECT_OK(machine.check(run, 1, stream));
}

}  // namespace
}  // namespace tessera
