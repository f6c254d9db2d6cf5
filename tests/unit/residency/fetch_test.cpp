// Who comes: bringing runs in for a use, by one thread and by many.
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyFetch, AMissIsCountedAndAHitIsNot) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  EXPECT_EQ(machine.residency().stats().late_fetches, 0U) << "there was nothing to bring";
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));
  EXPECT_EQ(machine.residency().stats().late_fetches, 1U);
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.check(run, 1));
  EXPECT_EQ(machine.residency().stats().late_fetches, 1U);
  EXPECT_EQ(machine.residency().stats().fetches, 1U);
  EXPECT_EQ(machine.residency().stats().bytes_in, 2_MiB);
}

TEST(ResidencyFetch, TheStreamWaitsForTheBytesAndTheCallerDoesNot) {
  ResidencyMachine machine({.sim = {.memory = 64_MiB,
                                    .inbound = {50'000'000, {}},
                                    .outbound = {50'000'000, {}}}});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));  // the copy takes 40 ms
  EXPECT_TRUE(run->has(PageState::kArriving));
  ASSERT_OK(machine.check(run, 1, machine.stream()));  // another stream waits too
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
}

TEST(ResidencyFetch, WithoutAStreamTheCallerWaits) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.touch({run}, Access::kRead, kNoStream));
  EXPECT_EQ(run->missing.load(), 0U);
}

TEST(ResidencyFetch, PrefetchedPagesAreThereWhenTheyAreNeeded) {
  ResidencyMachine machine({.host = 2_MiB, .file = 32_MiB});
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  ASSERT_GT(machine.residency().whereabouts(*run)[2], Bytes());
  ASSERT_OK(machine.prefetch(run));
  for (int i = 0; i < 50 && run->missing.load() != 0; ++i) {
    ASSERT_OK(machine.settle());
    ASSERT_OK(machine.prefetch(run));  // as far as there was room
  }
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.residency().stats().late_fetches, 0U);
  EXPECT_OK(machine.check(run, 1));
}

TEST(ResidencyFetch, APrefetchPushesNobodyOut) {
  ResidencyMachine machine({.device = 8_MiB, .options = {.low_percent = 0, .high_percent = 0}});
  auto* cold = machine.add();
  ASSERT_OK(machine.write(cold, 1));
  ASSERT_OK(machine.evict(cold));
  for (auto* run : machine.add_many(4)) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  const std::uint64_t evictions = machine.residency().stats().evictions;
  ASSERT_OK(machine.prefetch(cold));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().stats().evictions, evictions);
  EXPECT_EQ(cold->missing.load(), 1U);
}

TEST(ResidencyFetch, CorruptBytesAreAnErrorOfTheirRunAlone) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  const auto runs = machine.add_many(4);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_OK(machine.write(runs[i], i));
  ASSERT_OK(machine.evict(runs[0]));
  ASSERT_OK(machine.settle());
  machine.file().corrupt();
  EXPECT_EQ(machine.touch({runs[0]}).code(), Code::kDataLoss);
  EXPECT_EQ(machine.touch({runs[0]}).code(), Code::kDataLoss) << "it stays lost";
  EXPECT_EQ(machine.touch({runs[3], runs[0]}).code(), Code::kDataLoss);
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.write(runs[3], 3));
  EXPECT_OK(machine.check(runs[3], 3));
  ASSERT_OK(machine.residency().ensure(runs[0], kNoStream, Contents::kUndefined));
  ASSERT_OK(machine.write(runs[0], 9));
  EXPECT_OK(machine.check(runs[0], 9));  // a new block does not inherit the loss
}

TEST(ResidencyFetch, AFailedReadCanBeTriedAgain) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  machine.file().set_read_outcome(Status(Code::kIo, "bad cable"));
  EXPECT_EQ(machine.touch({run}).code(), Code::kIo);
  EXPECT_EQ(machine.touch({run}).code(), Code::kIo);
  EXPECT_EQ(machine.valid(), "ok");
  machine.file().set_read_outcome({});
  EXPECT_OK(machine.check(run, 1));
}

TEST(ResidencyFetch, AFailedPrefetchIsNoErrorUntilTheUse) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  machine.file().set_read_outcome(Status(Code::kIo, "bad cable"));
  EXPECT_OK(machine.prefetch(run));
  EXPECT_OK(machine.settle());
  machine.file().set_read_outcome({});
  EXPECT_OK(machine.check(run, 1));
}

TEST(ResidencyFetch, AUseWaitsForABlockingUseThatIsInItsWay) {
  ResidencyMachine machine({.device = 4_MiB});
  std::vector<tessera::Run*> held = machine.add_many(2);
  auto* wanted = machine.add();
  Use use;
  ASSERT_OK(machine.residency().begin_use(held, StreamId(0), Access::kWrite, Use::Kind::kHold, use));
  std::atomic<bool> ended{false};
  std::thread other([&] {
    EXPECT_OK(machine.write(wanted, 1));
    EXPECT_TRUE(ended.load()) << "there was no room before";
  });
  ended.store(true);
  machine.residency().end_use(held, StreamId(0), use);
  other.join();
  EXPECT_OK(machine.check(wanted, 1));
}

TEST(ResidencyFetch, ADriverOutOfMemoryBelowTheBudgetIsHelpedByEviction) {
  // The device has less than the budget says: somebody else took it.
  ResidencyMachine machine({.device = 32_MiB, .sim = {.memory = 12_MiB}});
  const auto runs = machine.add_many(10);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.check(runs[i], i));
}

TEST(ResidencyFetch, WhatComesMayGoOnToTheFileWhileTheDriverIsHelped) {
  // The large page fills host memory; those that leave to help the driver push it on to the file.
  ResidencyMachine machine(
      {.device = 96_MiB, .host = 32_MiB, .staging = 2_MiB, .file = 256_MiB, .sim = {.memory = 40_MiB}});
  auto* const large = machine.add({1, 0});
  ASSERT_OK(machine.write(large, 1));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.evict(large));
  ASSERT_OK(machine.settle());
  machine.tiers().device.trim();
  const auto small = machine.add_many(20);
  for (std::uint64_t i = 0; i < small.size(); ++i) ASSERT_OK(machine.write(small[i], i));
  ASSERT_OK(machine.settle());
  EXPECT_OK(machine.touch({large}));
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_OK(machine.check(large, 1));
  for (std::uint64_t i = 0; i < small.size(); ++i) EXPECT_OK(machine.check(small[i], i));
}

// Everything at once: own runs of each thread over twice the device, shared ones, hints.
void live(ResidencyMachine& machine, std::vector<tessera::Run*> own, tessera::Run* shared,
          StreamId stream, std::uint64_t thread) {
  for (std::uint64_t round = 0; round < 12; ++round) {
    for (auto* run : own) EXPECT_OK(machine.write(run, round, stream));
    EXPECT_OK(machine.check(shared, 1, stream));
    Use use;
    auto* run = own[round % own.size()];
    EXPECT_OK(machine.residency().begin_use({&run, 1}, stream, Access::kWrite, Use::Kind::kHold, use));
    EXPECT_OK(machine.launch(run, round, stream, Access::kWrite));
    EXPECT_OK(machine.sim().synchronize(stream));
    machine.residency().end_use({&run, 1}, stream, use);
    if (round % 3 == thread % 3) EXPECT_OK(machine.prefetch(own.front()));
    if (round % 3 == 1) {
      const Status evicted = machine.evict(own.back());
      EXPECT_TRUE(evicted.is_ok() || evicted.code() == Code::kBusy) << evicted.to_string();
    }
    machine.residency().advance();
    for (auto* one : own) EXPECT_OK(machine.check(one, round, stream));
  }
}

TEST(ResidencyFetch, ManyThreadsOnManyStreamsShareADeviceHalfAsLarge) {
  ResidencyMachine machine({.device = 16_MiB, .host = 8_MiB, .file = 64_MiB});
  auto* shared = machine.add();
  ASSERT_OK(machine.write(shared, 1));
  ASSERT_OK(machine.settle());
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    const StreamId stream = t == 3 ? kPerThreadStream : machine.stream();
    threads.emplace_back([&machine, own = machine.add_many(4), shared, stream, t] {
      live(machine, own, shared, stream, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(machine.settle());
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_GT(machine.residency().stats().evictions, 0U);
}

}  // namespace
}  // namespace tessera
