// Announced uses: stamps, holds, and frees.
#include <optional>
#include <span>
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(ResidencyUses, AUseBringsEveryPageAndStampsTheRun) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 3});
  ASSERT_OK(machine.touch({run}));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(run->used.load(), machine.residency().epoch());
  EXPECT_EQ(run->written.load(), Epoch(0));
  ASSERT_OK(machine.touch({run}, Access::kWrite));
  EXPECT_EQ(run->written.load(), run->used.load());
  EXPECT_EQ(run->gap.load(), 1U);
  EXPECT_EQ(machine.residency().figures().stats().launches, 2U);
}

TEST(ResidencyUses, ARunMayBeNamedTwice) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.touch({run, run}));
  EXPECT_EQ(run->holds.load(), 0U);
  tessera::Run* const twice[] = {run, run};
  Use use;
  ASSERT_OK(machine.residency().begin_use(twice, StreamId(0), Access::kRead, Use::Kind::kHold, use));
  machine.residency().end_use(twice, StreamId(0), use);
  EXPECT_EQ(run->holds.load(), 0U);
  EXPECT_OK(machine.evict(run));
}

TEST(ResidencyUses, AUseOfNoRunsSucceeds) {
  ResidencyMachine machine;
  EXPECT_OK(machine.touch({}));
}

TEST(ResidencyUses, TryUseNeedsEveryPageResident) {
  ResidencyMachine machine;
  auto* run = machine.add();
  const auto find = [&] { return std::optional(std::span<tessera::Run* const>(&run, 1)); };
  Use use;
  EXPECT_FALSE(machine.residency().try_use(find, StreamId(0), Access::kWrite, use));
  EXPECT_EQ(run->used.load(), Epoch(0));
  ASSERT_OK(machine.touch({run}));
  ASSERT_TRUE(machine.residency().try_use(find, StreamId(0), Access::kWrite, use));
  machine.residency().end_use({}, StreamId(0), use);
  EXPECT_EQ(run->written.load(), machine.residency().epoch());
  EXPECT_EQ(machine.residency().figures().stats().launches, 2U);
  EXPECT_EQ(machine.residency().figures().stats().uses, 2U);
  EXPECT_OK(machine.evict(run));  // closes the gate, which the use has left
}

TEST(ResidencyUses, AFailedTryUseHasNotBegun) {
  ResidencyMachine machine;
  const auto find = [] { return std::optional<std::span<tessera::Run* const>>(); };
  Use use;
  EXPECT_FALSE(machine.residency().try_use(find, StreamId(0), Access::kWrite, use));
  EXPECT_EQ(machine.residency().figures().stats().launches, 0U);
}

// Their stamps overwrite one another; nevertheless no page may be evicted under a kernel of any of them.
void read_in_threads(const std::vector<StreamId>& streams) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto runs = machine.add_many(6);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  ASSERT_OK(machine.settle());
  std::vector<std::thread> threads;
  for (const StreamId stream : streams) {
    const StreamId own = stream == StreamId() ? machine.stream() : stream;
    threads.emplace_back([&, own] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t run = i * i % runs.size();
        EXPECT_OK(machine.check(runs[run], run, own));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
}

TEST(ResidencyUses, ThreadsMayStampARunAtOnce) { read_in_threads({{}, {}, {}}); }

TEST(ResidencyUses, ThreadsOnTheirOwnDefaultStreamsMayStampARunAtOnce) {
  read_in_threads({kPerThreadStream, {}, kPerThreadStream});
}

TEST(ResidencyUses, AHeldRunStaysUntilTheUseEnds) {
  ResidencyMachine machine;
  auto* run = machine.add();
  Use use;
  ASSERT_OK(machine.residency().begin_use({&run, 1}, StreamId(0), Access::kWrite, Use::Kind::kHold, use));
  EXPECT_EQ(machine.evict(run).code(), Code::kBusy);
  machine.residency().end_use({&run, 1}, StreamId(0), use);
  EXPECT_OK(machine.evict(run));
}

TEST(ResidencyUses, WorkQueuedLateInABlockingUseIsStillFenced) {
  ResidencyMachine machine;
  auto* run = machine.add();
  auto* other = machine.add();
  const StreamId stream = machine.stream();
  ASSERT_OK(machine.write(run, 1, stream));
  Use use;
  ASSERT_OK(machine.residency().begin_use({&run, 1}, stream, Access::kWrite, Use::Kind::kHold, use));
  // Fences are requested between the stamp and the work.
  std::thread([&] { EXPECT_OK(machine.evict(other)); }).join();
  ASSERT_OK(machine.sim().fill(run->address, 7, 2_MiB, stream));
  machine.residency().end_use({&run, 1}, stream, use);
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.touch({run}));
  ASSERT_OK(machine.residency().drain());
  ASSERT_OK(machine.sim().synchronize(DeviceId(0)));
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>(run->address.value()), 7);
}

TEST(ResidencyUses, EnsureBacksARunAndBringsUndefinedContentsNotBack) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.residency().ensure(run, kNoStream));
  EXPECT_EQ(run->missing.load(), 0U);
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.residency().ensure(run, kNoStream, Contents::kUndefined));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.residency().figures().stats().bytes_in, Bytes());
  EXPECT_EQ(machine.tiers().host.usage().used, Bytes());
}

TEST(ResidencyUses, AFreedBlockIsNotedOnItsStream) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.touch({run}));
  const Epoch used = run->used.load();
  const Epoch epoch = machine.residency().note_free(run, machine.stream());
  EXPECT_GT(epoch, used);
  EXPECT_EQ(run->last_work(), epoch);
  EXPECT_EQ(run->used.load(), used);  // a free is not a use
  machine.residency().note_free(run, kNoStream);
  EXPECT_EQ(run->last_work(), epoch);
}

TEST(ResidencyUses, FreesShareAnEpochUntilTheNextUseOrFence) {
  ResidencyMachine machine;
  auto* run = machine.add();
  ASSERT_OK(machine.touch({run}));
  const Epoch first = machine.residency().note_free(run, machine.stream());
  EXPECT_EQ(machine.residency().note_free(run, machine.stream()), first);
  ASSERT_OK(machine.residency().poll_streams());
  const Epoch second = machine.residency().note_free(run, machine.stream());
  EXPECT_GT(second, first);
  ASSERT_OK(machine.touch({run}));
  EXPECT_GT(machine.residency().note_free(run, machine.stream()), second);
}

}  // namespace
}  // namespace tessera
