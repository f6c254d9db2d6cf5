// Pages swapped with host memory at their own address.
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

// The device has four base pages, and twelve more host frames can be mapped.
class PageSwaps : public testing::Test {
 protected:
  Residency& residency() { return machine_.residency(); }
  FaultDriver& fault() { return machine_.fault(); }
  // An unannounced kernel: it enters the gate, and names no block.
  Status unannounced(tessera::Run* run, std::uint64_t generation, Access access, StreamId stream = StreamId(0)) {
    const std::uint32_t slot = residency().begin_unnamed(stream);
    const Status launched = machine_.launch(run, generation, stream, access);
    residency().end_unnamed(stream, slot);
    return launched;
  }
  void expect_right() {
    ASSERT_OK(machine_.settle());
    EXPECT_EQ(machine_.wrong(), 0U);
    EXPECT_EQ(machine_.valid(), "ok");
  }
  Bytes backed() { return machine_.tiers().backing->usage().used; }

  ResidencyMachine machine_{{.device = 8_MiB, .backing = 24_MiB}};
};

TEST(PageSwapsOfLargePages, FetchesALargePageInPlaceOfBasePages) {
  ResidencyMachine machine({.device = 32_MiB, .backing = 96_MiB});
  auto* large = machine.add({1, 0});
  auto* base = machine.add({0, 15});
  ASSERT_OK(machine.write(large, 1));
  ASSERT_OK(machine.write(base, 2));
  auto* last = machine.add({0, 1});
  ASSERT_OK(machine.write(last, 3));
  const std::uint64_t destroyed = machine.fault().calls(DriverCall::kDestroyFrame);
  ASSERT_OK(machine.check(large, 1));
  EXPECT_EQ(machine.fault().calls(DriverCall::kDestroyFrame), destroyed + 16) << "the base pages' frames";
  ASSERT_OK(machine.check(base, 2));
  const std::uint64_t nth = 15 + 1;  // host frames are mapped in place of the fifteen base pages first
  machine.fault().fail({DriverCall::kMap, nth, Status(Code::kDriver, "injected", 999)});
  EXPECT_EQ(machine.check(large, 1).code(), Code::kDriver);
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.check(large, 1));
  ASSERT_OK(machine.check(last, 3));
}

TEST_F(PageSwaps, BytesSurviveSwaps) {
  const auto runs = machine_.add_many(9);
  for (std::uint64_t generation = 0; generation < 3; ++generation) {
    for (auto* run : runs) ASSERT_OK(machine_.write(run, generation));
    for (auto* run : runs) ASSERT_OK(machine_.check(run, generation));
  }
  expect_right();
  EXPECT_EQ(backed(), 10_MiB);
  EXPECT_GT(residency().figures().stats().stalls, 0U);
  EXPECT_EQ(residency().figures().stats().clean_evictions, 0U) << "nothing shows that a copy is still equal";
}

TEST_F(PageSwaps, AKernelReadsAndWritesAnEvictedRun) {
  const auto runs = machine_.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 1));
  ASSERT_EQ(runs[0]->missing.load(), 1U);
  ASSERT_OK(unannounced(runs[0], 1, Access::kRead));
  ASSERT_OK(unannounced(runs[0], 2, Access::kWrite));
  expect_right();
  ASSERT_EQ(runs[0]->missing.load(), 1U) << "nothing has moved";
  ASSERT_OK(machine_.check(runs[0], 2));
  EXPECT_EQ(runs[0]->missing.load(), 0U);
  expect_right();
}

TEST_F(PageSwaps, WaitsForRunningWorkBeforeAMove) {
  const StreamId stream = machine_.stream();
  const auto runs = machine_.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());  // other streams run concurrently
  std::atomic<bool> go{false};
  ASSERT_OK(machine_.sim().host_function(stream, [&] {
    while (!go.load()) std::this_thread::yield();
  }));
  // Both will run late: on an evicted run, and on one about to be evicted.
  ASSERT_OK(unannounced(runs[0], 2, Access::kWrite, stream));
  ASSERT_OK(unannounced(runs[7], 2, Access::kWrite, stream));
  std::thread mover([&] {
    EXPECT_OK(machine_.evict(runs[7]));
    EXPECT_OK(machine_.check(runs[0], 2));
  });
  go.store(true);
  mover.join();
  ASSERT_OK(machine_.check(runs[7], 2));
  expect_right();
}

TEST_F(PageSwaps, WaitsForWorkOnAnUnknownStream) {
  const StreamId stream = machine_.stream();
  auto* run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());  // other streams run concurrently
  const std::uint32_t slot = residency().begin_unnamed(kNoStream);
  ASSERT_OK(machine_.sim().host_function(stream, [] { std::this_thread::yield(); }));
  ASSERT_OK(machine_.launch(run, 2, stream, Access::kWrite));
  residency().end_unnamed(kNoStream, slot);
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(machine_.check(run, 2));
  expect_right();
}

TEST_F(PageSwaps, ThreadsMayRunUnannouncedWorkDuringSwaps) {
  const auto runs = machine_.add_many(9);
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 0));
  ASSERT_OK(machine_.settle());  // other streams run concurrently
  const StreamId stream = machine_.stream();
  std::thread worker([&] {
    for (std::uint64_t round = 1; round <= 20; ++round) {
      for (auto* run : runs) {
        EXPECT_OK(unannounced(run, round, Access::kWrite, stream));
        EXPECT_OK(unannounced(run, round, Access::kRead, stream));
      }
    }
  });
  for (int round = 0; round < 10; ++round) {
    for (auto* run : runs) EXPECT_OK(machine_.touch({run}));
  }
  worker.join();
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 20, stream));
  expect_right();
}

TEST_F(PageSwaps, AFullHeapSwapsPageByPage) {
  const auto runs = machine_.add_many(8, {0, 1});  // what the device holds, and half of what is below
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 1));
  const auto wide = machine_.add({0, 2});
  ASSERT_OK(machine_.write(wide, 1));
  EXPECT_EQ(residency().runs().add(machine_.reserve({0, 1}), {0, 1}, TagId()).status().code(), Code::kOutOfMemory);
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.check(wide, 1));
  expect_right();
}

TEST_F(PageSwaps, AHeldRunStays) {
  const auto runs = machine_.add_many(2);
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 1));
  Use use;
  ASSERT_OK(residency().begin_use({&runs[0], 1}, StreamId(0), Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(machine_.evict(runs[0]).code(), Code::kBusy);
  residency().end_use({&runs[0], 1}, StreamId(0), use);
  EXPECT_OK(machine_.evict(runs[0]));
  EXPECT_EQ(backed(), 2_MiB);
}

TEST_F(PageSwaps, ADeadRunIsDiscarded) {
  const auto runs = machine_.add_many(8);
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 1));
  EXPECT_EQ(backed(), 8_MiB);
  runs[0]->live.store(0);
  runs[0]->live.store(1);
  ASSERT_OK(residency().ensure(runs[0], StreamId(0), Contents::kUndefined));
  EXPECT_EQ(runs[0]->missing.load(), 0U);
  ASSERT_OK(residency().runs().remove(runs[1]));
  ASSERT_OK(machine_.write(runs[0], 2));
  ASSERT_OK(machine_.check(runs[0], 2));
  expect_right();
}

TEST_F(PageSwaps, AFailedCallLeavesAValidCopy) {
  const auto runs = machine_.add_many(8);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine_.write(runs[i], 1));
  for (DriverCall call : {DriverCall::kUnmap, DriverCall::kMap, DriverCall::kSetAccess, DriverCall::kCopy,
                          DriverCall::kSynchronizeStream}) {
    for (std::uint64_t nth = 1; nth <= 4; ++nth) {
      SCOPED_TRACE(testing::Message() << name_of(call) << " " << nth);
      fault().fail({call, nth, Status(Code::kDriver, "injected", 999)});
      for (auto* run : runs) {
        if (machine_.check(run, 1).is_ok()) continue;
        EXPECT_EQ(machine_.valid(), "ok");
        ASSERT_OK(machine_.check(run, 1));  // the second attempt
      }
      fault().clear();
      expect_right();
    }
  }
}

TEST_F(PageSwaps, FetchesAPageThatHasNoBacking) {
  auto* run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  // The first one maps the frame elsewhere.
  fault().fail({DriverCall::kMap, 2, Status(Code::kDriver, "injected", 999)});
  ASSERT_OK(machine_.evict(run));
  EXPECT_FALSE(run->pages[0].copy.backed);
  fault().clear();
  ASSERT_OK(machine_.check(run, 1));
  expect_right();
}

TEST_F(PageSwaps, LargePagesSwapWithSmallOnes) {
  ResidencyMachine machine({.device = 64_MiB, .backing = 192_MiB, .sim = {.memory = 64_MiB}});
  std::vector<tessera::Run*> runs = machine.add_many(3, {1, 1});
  for (auto* run : machine.add_many(20)) runs.push_back(run);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  for (int round = 0; round < 2; ++round) {
    for (auto* run : runs) ASSERT_OK(machine.check(run, 1));
  }
  EXPECT_EQ(machine.wrong(), 0U);
}

}  // namespace
}  // namespace tessera
