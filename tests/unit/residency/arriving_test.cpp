// Blocks fetched while work may use them unseen: they are copied first and mapped afterwards. Such work finds their
// bytes, or it faults.
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;

constexpr std::uint64_t kSlowInbound = 20'000'000;  // bytes per second: a tenth of a second for a page

ResidencySetup slow_inbound(Bytes file = {}) {
  return {.device = 16_MiB,
          .host = file ? 2_MiB : 32_MiB,
          .file = file,
          .policy = "lru",
          .sim = {.memory = 64_MiB, .inbound = {kSlowInbound, {}}}};
}

class Arriving : public ::testing::Test {
 protected:
  explicit Arriving(const ResidencySetup& setup = slow_inbound()) : machine_(setup) {
    machine_.residency().expect_unseen_work();
  }

  // Written and evicted.
  AnyRun* away(RunShape shape = {0, 1}) {
    AnyRun* const run = machine_.add(shape);
    EXPECT_OK(machine_.write(run, 1));
    EXPECT_OK(machine_.evict(run));
    EXPECT_EQ(run->bytes_in(PageState::kCold), run->shape.bytes());
    return run;
  }
  AnyRun* arriving(RunShape shape = {0, 1}) {
    AnyRun* const run = away(shape);
    EXPECT_OK(machine_.prefetch(run));
    EXPECT_TRUE(run->has(PageState::kApartFetching));
    return run;
  }
  // Only the kernel's stream is announced.
  void queue_unseen(AnyRun* run, std::uint64_t generation) {
    const StreamId stream = machine_.stream();
    const std::uint32_t slot = machine_.residency().begin_unnamed(stream);
    ASSERT_OK(machine_.launch(run, generation, stream, Access::kWrite));
    machine_.residency().end_unnamed(stream, slot);
  }
  void advance_until_it_has_come(const AnyRun* run) {
    while (run->is_fetching()) {
      machine_.residency().advance();
      std::this_thread::yield();
    }
  }

  ResidencyMachine machine_;
};

TEST_F(Arriving, AnUnseenWriteDuringTheCopyFaults) {
  AnyRun* const run = arriving();
  queue_unseen(run, 2);
  EXPECT_FALSE(machine_.sim().synchronize(DeviceId(0)).is_ok());
  machine_.abandon();
}

TEST_F(Arriving, AnUnseenWriteAfterItsArrivalIsKept) {
  AnyRun* const run = arriving({0, 2});
  advance_until_it_has_come(run);
  EXPECT_EQ(run->missing.load(), 0U) << "mapped although no use has asked for it";
  EXPECT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  queue_unseen(run, 2);
  ASSERT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(Arriving, AnAnnouncedUseIsQueuedBehindTheCopy) {
  AnyRun* const run = arriving();
  ASSERT_OK(machine_.check(run, 1));
  EXPECT_TRUE(run->has(PageState::kFetching)) << "the call has not waited for the copy";
  ASSERT_OK(machine_.write(run, 2));
  EXPECT_OK(machine_.check(run, 2));
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(machine_.residency().figures().stats().fetches, 1U);
}

TEST_F(Arriving, AWaitForTheDeviceReturnsWhenItIsMapped) {
  AnyRun* const run = arriving();
  const Epoch before = machine_.residency().before_wait();
  ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
  machine_.residency().note_over(std::nullopt, before);
  EXPECT_EQ(run->missing.load(), 0U);
  queue_unseen(run, 2);
  ASSERT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(Arriving, APinWaitsForIt) {
  AnyRun* const run = arriving();
  ASSERT_OK(machine_.residency().pins().pin(run, nullptr));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.residency().pins().unpin(run));
}

TEST_F(Arriving, AWakeReturnsWhenItIsMapped) {
  AnyRun* const run = away({0, 3});
  ASSERT_TRUE(machine_.residency().sleeper().wake(std::nullopt).is_ok());
  EXPECT_TRUE(run->has(PageState::kResident));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_OK(machine_.check(run, 1));
}

// Of a call that waits for the bytes, the error is returned; the next one has better luck.
TEST_F(Arriving, APinReportsThatItCannotBeMapped) {
  AnyRun* const run = arriving();
  machine_.fault().fail({DriverCall::kSetAccess, 1, Status(Code::kDriver, "injected", 999), true});
  EXPECT_FALSE(machine_.residency().pins().pin(run, nullptr).is_ok());
  machine_.fault().clear();
  EXPECT_EQ(machine_.valid(), "ok");
  ASSERT_OK(machine_.residency().pins().pin(run, nullptr));
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.residency().pins().unpin(run));
}

TEST_F(Arriving, APrefetchThatCannotBeMappedIsGivenUp) {
  AnyRun* const run = arriving();
  machine_.fault().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), true});
  advance_until_it_has_come(run);
  machine_.residency().advance();
  EXPECT_TRUE(run->has(PageState::kCold)) << "and is not begun again";
  machine_.fault().clear();
  EXPECT_EQ(machine_.tiers().device.usage().used, Bytes());
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(Arriving, EvictingItWaitsForIt) {
  AnyRun* const run = arriving();
  ASSERT_OK(machine_.evict(run));
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(Arriving, RemovingTheRunReleasesItsFrames) {
  AnyRun* const run = arriving({0, 2});
  EXPECT_OK(machine_.residency().runs().remove(run));
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_EQ(machine_.tiers().device.usage().used, Bytes());
}

TEST_F(Arriving, SwitchingAutomaticOffReturnsWhenItIsMapped) {
  AnyRun* const run = arriving();
  ASSERT_OK(machine_.residency().automatic().set(false));
  EXPECT_EQ(run->missing.load(), 0U);
  ASSERT_OK(machine_.launch(run, 2, StreamId(0), Access::kWrite));
  ASSERT_OK(machine_.residency().automatic().set(true));
  EXPECT_OK(machine_.check(run, 2));
}

class ArrivingFromTheFile : public Arriving {
 protected:
  ArrivingFromTheFile() : Arriving(slow_inbound(16_MiB)) {}
};

// Read to host memory first; then the copy to the device begins without a further call.
TEST_F(ArrivingFromTheFile, ItIsMappedOnArrivalToo) {
  AnyRun* const run = away();
  AnyRun* const other = away();  // the host has room for one
  EXPECT_OK(machine_.settle());
  ASSERT_TRUE(run->pages[0].file && !run->pages[0].host);
  ASSERT_OK(machine_.prefetch(run));
  while (!run->is_fetching()) machine_.residency().advance();
  EXPECT_TRUE(run->has(PageState::kApartFetching));
  advance_until_it_has_come(run);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.check(other, 1));
}

TEST(EveryUseAnnounced, PrefetchedPagesAreMappedAtOnce) {
  ResidencyMachine machine(slow_inbound());
  AnyRun* const run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.prefetch(run));
  EXPECT_TRUE(run->has(PageState::kFetching));
  EXPECT_OK(machine.check(run, 1));
}

}  // namespace
}  // namespace tessera
