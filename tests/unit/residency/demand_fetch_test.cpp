// Uses that have to wait: for bytes, and for other calls, by one thread and by many.
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyFetch, AMissIsCountedAndAHitIsNot) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  EXPECT_EQ(machine.residency().figures().stats().late_fetches, 0U) << "there was nothing to bring";
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));
  EXPECT_EQ(machine.residency().figures().stats().late_fetches, 1U);
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.check(run, 1));
  EXPECT_EQ(machine.residency().figures().stats().late_fetches, 1U);
  EXPECT_EQ(machine.residency().figures().stats().fetches, 1U);
  EXPECT_EQ(machine.residency().figures().stats().bytes_in, 2_MiB);
}

TEST(ResidencyFetch, TheStreamWaitsForTheBytesButNotTheCaller) {
  ResidencyMachine machine({.sim = {.memory = 64_MiB, .inbound = {50'000'000, {}}, .outbound = {50'000'000, {}}}});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.check(run, 1));  // the copy takes 40 ms
  EXPECT_TRUE(run->has(PageState::kFetching));
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

TEST(ResidencyFetch, AUseWaitsForABlockingUseThatHoldsItsRoom) {
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

// Another program's turn begins after the call has waited for its own, and before its fetch: neither an error nor a
// reason to use the block in host memory from now on.
TEST(ResidencyFetch, AUseWaitsAgainWhenItsTurnEndsBeforeItsFetch) {
  ResidencyMachine* machine = nullptr;
  int waits = 0;
  ResidencySetup setup{.device = 16_MiB, .host = 64_MiB, .zero_copy = true};
  setup.options.before_fetch = [&](Bytes needed, Bytes missing) {
    EXPECT_EQ(needed, 8_MiB);
    EXPECT_EQ(missing, 8_MiB);
    ++waits;
    machine->residency().yields().set_ceiling(waits < 3 ? 4_MiB : 16_MiB);
    machine->tiers().device.regain(DeviceTier::Ask::kNow);
    return true;
  };
  ResidencyMachine shared(setup);
  machine = &shared;
  tessera::Run* const run = shared.add({0, 4});
  ASSERT_OK(shared.write(run, 1));
  EXPECT_EQ(waits, 3);
  EXPECT_EQ(run->bytes_in(PageState::kResident), 8_MiB);
  ASSERT_OK(shared.check(run, 1));
}

TEST(ResidencyFetch, AUseGoesOnWithoutATurnAfterAllPatience) {
  ResidencyMachine* machine = nullptr;
  int waits = 0;
  ResidencySetup setup{.device = 16_MiB, .host = 64_MiB, .zero_copy = true};
  setup.options.before_fetch = [&](Bytes, Bytes) {
    ++waits;
    machine->residency().yields().set_ceiling(4_MiB);
    return false;
  };
  ResidencyMachine shared(setup);
  machine = &shared;
  tessera::Run* const run = shared.add({0, 4});
  ASSERT_OK(shared.write(run, 1));
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(run->bytes_in(PageState::kZeroCopy), 6_MiB) << "4 MiB too many, and 2 MiB are kept";
  ASSERT_OK(shared.check(run, 1));
}

// Everything at once: each thread's own runs at twice the device size, shared ones, hints.
void live(ResidencyMachine& machine, std::vector<tessera::Run*> own, tessera::Run* shared, StreamId stream,
          std::uint64_t thread) {
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
    threads.emplace_back(
        [&machine, own = machine.add_many(4), shared, stream, t] { live(machine, own, shared, stream, t); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(machine.settle());
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_GT(machine.residency().figures().stats().evictions, 0U);
}

}  // namespace
}  // namespace tessera
