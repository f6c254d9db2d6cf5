#include "residency/residency.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

constexpr Nanoseconds kCheap{1}, kDear{std::uint64_t{1} << 50};

// Without host memory nothing can be evicted by a copy.
const ResidencySetup kNothingBelow{.device = 8_MiB, .host = 0_B, .staging = 0_B};

class ResidencyRecomputeTest : public ::testing::Test {
 protected:
  explicit ResidencyRecomputeTest(const ResidencySetup& setup = kNothingBelow) : machine_(setup) {}

  Residency& residency() { return machine_.residency(); }
  // The run contains the generation, and its callback recomputes it.
  DeviceRun* recomputable(std::uint64_t generation, Nanoseconds cost = kCheap, RunShape shape = {0, 1}) {
    DeviceRun* run = machine_.add(shape);
    EXPECT_OK(machine_.write(run, generation));
    recompute_by(run, generation, cost);
    return run;
  }
  void recompute_by(DeviceRun* run, std::uint64_t generation, Nanoseconds cost = kCheap) {
    set(run, cost,
        [this, run, generation](StreamId on) { return machine_.launch(run, generation, on, Access::kWrite); });
  }
  void set(DeviceRun* run, Nanoseconds cost, std::function<Status(StreamId)> work) {
    EXPECT_OK(residency().recomputation().set(run, {[this, work = std::move(work)](StreamId on) {
                                                      ++called_;
                                                      return work(on);
                                                    },
                                                    cost}));
  }
  // From now on the link rates are known.
  void measure_links() {
    DeviceRun* run = machine_.add({0, 2});
    EXPECT_OK(machine_.write(run, 1));
    EXPECT_OK(machine_.evict(run));
    EXPECT_OK(machine_.check(run, 1));
    EXPECT_OK(residency().runs().remove(run));
  }
  bool is_nowhere(const DeviceRun* run) {
    return residency().figures().whereabouts(*run) == std::array<Bytes, kLocations>{};
  }

  ResidencyMachine machine_;
  int called_ = 0;
};

TEST_F(ResidencyRecomputeTest, DroppedBytesAreRecomputedAndNotCopied) {
  DeviceRun* run = recomputable(7, kCheap, {0, 3});
  EXPECT_OK(machine_.evict(run));
  EXPECT_TRUE(is_nowhere(run));
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_EQ(called_, 0);
  EXPECT_OK(machine_.check(run, 7));
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(called_, 1);
  const ResidencyStats stats = residency().figures().stats();
  EXPECT_EQ(stats.dropped_bytes, 6_MiB);
  EXPECT_EQ(stats.recomputed_bytes, 6_MiB);
  EXPECT_EQ(stats.recomputes, 1U);
  EXPECT_EQ(stats.recompute_time, kCheap);
  EXPECT_EQ(stats.bytes_out + stats.bytes_in, Bytes());
  EXPECT_OK(machine_.evict(run));  // the callback still stands for these bytes
  EXPECT_OK(machine_.check(run, 7));
  EXPECT_EQ(called_, 2);
}

TEST_F(ResidencyRecomputeTest, AWriteEndsTheCallbackUntilItIsSetAgain) {
  DeviceRun* run = recomputable(1);
  EXPECT_OK(machine_.write(run, 2));
  EXPECT_EQ(machine_.evict(run).code(), Code::kOutOfMemory);
  recompute_by(run, 2);
  EXPECT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 2));
  EXPECT_EQ(called_, 1);
}

TEST_F(ResidencyRecomputeTest, AWriteNotedLateEndsItToo) {
  DeviceRun* run = recomputable(1);
  Use use;
  ASSERT_OK(residency().begin_use({&run, 1}, StreamId(0), Access::kRead, Use::Kind::kGate, use));
  residency().note_written(*run);
  EXPECT_OK(machine_.launch(run, 2, StreamId(0), Access::kWrite));
  residency().end_use({&run, 1}, StreamId(0), use);
  EXPECT_EQ(machine_.evict(run).code(), Code::kOutOfMemory);
  EXPECT_OK(machine_.check(run, 2));
  EXPECT_EQ(called_, 0);
}

TEST_F(ResidencyRecomputeTest, UnannouncedWorkForbidsADrop) {
  DeviceRun* run = recomputable(1);
  EXPECT_OK(residency().automatic().set(false));
  EXPECT_EQ(machine_.evict(run).code(), Code::kOutOfMemory);
  EXPECT_OK(residency().automatic().set(true));
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(ResidencyRecomputeTest, TheNextBlockOfARunHasNoCallback) {
  std::vector<std::atomic<std::uint64_t>> word(1);
  word[0] = 1;
  const RunShape shape{0, 1};
  DeviceRun* run = residency().runs().add(machine_.reserve(shape), shape, TagId(), {nullptr, word}).take();
  EXPECT_OK(machine_.write(run, 1));
  recompute_by(run, 1);
  word[0] = 2;  // freed, and reallocated without a call of the engine
  word[0] = 3;
  EXPECT_EQ(machine_.evict(run).code(), Code::kOutOfMemory);
  EXPECT_EQ(residency().figures().stats().dropped_bytes, Bytes());
  EXPECT_OK(machine_.touch({run}));
  EXPECT_EQ(called_, 0);
}

TEST_F(ResidencyRecomputeTest, AFreedDroppedBlockIsNotRecomputed) {
  DeviceRun* run = recomputable(1);
  EXPECT_OK(machine_.evict(run));
  run->live.store(0);
  EXPECT_EQ(machine_.valid(), "ok");
  run->live.store(1);
  EXPECT_OK(residency().ensure(run, StreamId(0), Contents::kUndefined));
  EXPECT_OK(machine_.write(run, 5));
  EXPECT_OK(machine_.check(run, 5));
  EXPECT_EQ(called_, 0);
}

TEST_F(ResidencyRecomputeTest, AFailedCallbackFailsTheCallAndIsRetriedAtTheNext) {
  DeviceRun* run = machine_.add({0, 2});
  EXPECT_OK(machine_.write(run, 3));
  bool fails = true;
  set(run, kCheap, [&](StreamId on) {
    EXPECT_OK(machine_.launch(run, fails ? 8 : 3, on, Access::kWrite));
    return fails ? Status(Code::kDriver, "no model file", 304) : Status();
  });
  EXPECT_OK(machine_.evict(run));
  for (int i = 0; i < 2; ++i) {
    const Status failure = machine_.check(run, 3);
    EXPECT_EQ(failure.code(), Code::kDriver);
    EXPECT_EQ(failure.native_code(), 304);
    EXPECT_NE(failure.message().find("no model file"), std::string::npos) << failure.message();
    EXPECT_TRUE(is_nowhere(run));
    EXPECT_EQ(machine_.valid(), "ok");
    EXPECT_EQ(machine_.tiers().device.usage().used, Bytes());
  }
  fails = false;
  EXPECT_OK(machine_.check(run, 3));
  EXPECT_EQ(called_, 3);
}

TEST_F(ResidencyRecomputeTest, AFailedCallbacksWorkEndsBeforeItsFramesAreReleased) {
  HeldKernel held;
  bool fails = true;
  DeviceRun* run = machine_.add();
  EXPECT_OK(machine_.write(run, 3));
  set(run, kCheap, [&](StreamId on) {
    if (!fails) return machine_.launch(run, 3, on, Access::kWrite);
    EXPECT_OK(held.launch(machine_.sim(), on));
    EXPECT_OK(machine_.launch(run, 8, on, Access::kWrite));
    return Status(Code::kIo, "half done");
  });
  EXPECT_OK(machine_.evict(run));
  machine_.fault().fail({DriverCall::kSynchronizeStream, 1, Status(Code::kDriver, "injected", 999), true});
  std::atomic<bool> returned{false};
  std::thread later([&, before = machine_.fault().calls(DriverCall::kSynchronizeDevice)] {
    while (machine_.fault().calls(DriverCall::kSynchronizeDevice) == before && !returned) std::this_thread::yield();
    held.let_go();
  });
  EXPECT_EQ(machine_.check(run, 3).code(), Code::kIo);
  returned = true;
  later.join();
  EXPECT_TRUE(is_nowhere(run));
  EXPECT_EQ(machine_.tiers().device.usage().used, Bytes());
  machine_.fault().clear();
  fails = false;
  EXPECT_OK(machine_.check(run, 3));
}

TEST_F(ResidencyRecomputeTest, AnyDriverCallMayFailOnceWithoutLoss) {
  constexpr DriverCall kCalls[] = {DriverCall::kUnmap,       DriverCall::kMap,         DriverCall::kSetAccess,
                                   DriverCall::kCreateEvent, DriverCall::kRecordEvent, DriverCall::kQueryEvent};
  for (const DriverCall call : kCalls) {
    for (std::uint64_t nth = 1; nth <= 4; ++nth) {
      ResidencyMachine machine(kNothingBelow);
      DeviceRun* run = machine.add({0, 3});
      ASSERT_OK(machine.write(run, 1));
      ASSERT_OK(machine.residency().recomputation().set(
          run, {[&](StreamId on) { return machine.launch(run, 1, on, Access::kWrite); }, kCheap}));
      machine.fault().fail({call, nth, Status(Code::kDriver, "injected", 999)});
      const Status left = machine.evict(run);
      EXPECT_EQ(machine.valid(), "ok") << name_of(call) << ' ' << nth << ": " << left.to_string();
      const Status came = machine.check(run, 1);
      EXPECT_EQ(machine.valid(), "ok") << name_of(call) << ' ' << nth << ": " << came.to_string();
      machine.fault().clear();
      EXPECT_OK(machine.check(run, 1));
      machine.finish();
    }
  }
}

TEST_F(ResidencyRecomputeTest, ACallbackMayUseADroppedRun) {
  DeviceRun* first = recomputable(1);
  DeviceRun* second = machine_.add();
  EXPECT_OK(machine_.write(second, 2));
  set(second, kCheap, [&](StreamId on) {
    TESSERA_TRY(machine_.check(first, 1, on));
    return machine_.launch(second, 2, on, Access::kWrite);
  });
  const StreamId stream = machine_.stream();
  EXPECT_OK(machine_.evict(first));
  EXPECT_OK(machine_.evict(second));
  EXPECT_OK(machine_.check(second, 2, stream));
  EXPECT_EQ(called_, 2);
  EXPECT_FALSE(is_nowhere(first));
}

TEST_F(ResidencyRecomputeTest, ACallbackMayAnnounceItsOwnRun) {
  DeviceRun* run = machine_.add();
  EXPECT_OK(machine_.write(run, 1));
  set(run, kCheap, [&](StreamId on) { return machine_.write(run, 1, on); });  // as the shim sees it
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(machine_.evict(run));
    EXPECT_OK(machine_.check(run, 1));
  }
  EXPECT_EQ(called_, 2);
}

TEST_F(ResidencyRecomputeTest, WithoutAStreamTheBytesAreWaitedFor) {
  DeviceRun* run = recomputable(4);
  EXPECT_OK(machine_.evict(run));
  EXPECT_OK(residency().pins().pin(run));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(residency().figures().stats().recomputed_bytes, 2_MiB);
  EXPECT_OK(residency().pins().unpin(run));
  EXPECT_OK(machine_.check(run, 4));
}

TEST_F(ResidencyRecomputeTest, SleepDropsAndWakeRecomputes) {
  DeviceRun* run = recomputable(4, kCheap, {0, 2});
  EXPECT_EQ(residency().sleeper().sleep(std::nullopt).take().moved, 4_MiB);
  EXPECT_TRUE(is_nowhere(run));
  EXPECT_EQ(residency().sleeper().wake(std::nullopt).take().moved, 4_MiB);
  EXPECT_EQ(called_, 1);
  EXPECT_OK(machine_.check(run, 4));
  EXPECT_EQ(called_, 1);
}

TEST_F(ResidencyRecomputeTest, WakeReportsAFailedCallback) {
  DeviceRun* run = recomputable(4);
  EXPECT_OK(machine_.evict(run));
  set(run, kCheap, [](StreamId) { return Status(Code::kIo, "no model file"); });
  EXPECT_EQ(residency().sleeper().wake(std::nullopt).status().code(), Code::kIo);
  EXPECT_TRUE(is_nowhere(run));
  recompute_by(run, 4);
  EXPECT_OK(machine_.check(run, 4));
}

TEST_F(ResidencyRecomputeTest, TheCallbackOfADroppedRunCannotBeRemoved) {
  DeviceRun* run = recomputable(4);
  EXPECT_OK(machine_.evict(run));
  EXPECT_EQ(residency().recomputation().set(run, {}).code(), Code::kBusy);
  EXPECT_OK(machine_.check(run, 4));
  EXPECT_OK(residency().recomputation().set(run, {}));
  EXPECT_EQ(machine_.evict(run).code(), Code::kOutOfMemory);
}

// While one thread is in a callback, another that needs the same bytes waits for it, and for nothing else.
TEST_F(ResidencyRecomputeTest, TwoThreadsThatNeedARunRecomputeItOnce) {
  DeviceRun* run = machine_.add();
  DeviceRun* free = recomputable(9);
  EXPECT_OK(machine_.write(run, 6));
  std::atomic<bool> inside{false}, goes_on{false};
  set(run, kCheap, [&](StreamId on) {
    inside = true;
    inside.notify_all();
    goes_on.wait(false);
    return machine_.launch(run, 6, on, Access::kWrite);
  });
  EXPECT_OK(machine_.evict(run));
  const StreamId one = machine_.stream(), two = machine_.stream();
  std::thread recomputer([&] { EXPECT_OK(machine_.check(run, 6, one)); });
  inside.wait(false);
  std::thread waiter([&] { EXPECT_OK(machine_.check(run, 6, two)); });
  EXPECT_OK(machine_.check(free, 9));  // the engine is not locked
  EXPECT_EQ(machine_.evict(run).code(), Code::kBusy);
  goes_on = true;
  goes_on.notify_all();
  recomputer.join();
  waiter.join();
  EXPECT_EQ(called_, 1);
}

class RecomputeOrCopyTest : public ResidencyRecomputeTest {
 protected:
  RecomputeOrCopyTest() : ResidencyRecomputeTest({.device = 8_MiB, .host = 64_MiB}) {}
};

TEST_F(RecomputeOrCopyTest, ChoosesTheCheaperOfRecomputeAndCopy) {
  DeviceRun* early = recomputable(1, kCheap);
  EXPECT_OK(machine_.evict(early));
  EXPECT_FALSE(is_nowhere(early)) << "the time of a copy is not known yet";
  EXPECT_OK(residency().runs().remove(early));
  measure_links();
  DeviceRun* cheap = recomputable(1, kCheap);
  DeviceRun* dear = recomputable(2, kDear);
  EXPECT_OK(machine_.evict(cheap));
  EXPECT_OK(machine_.evict(dear));
  EXPECT_TRUE(is_nowhere(cheap));
  EXPECT_EQ(residency().figures().whereabouts(*dear)[2], 2_MiB);
  EXPECT_OK(machine_.check(cheap, 1));
  EXPECT_OK(machine_.check(dear, 2));
  EXPECT_EQ(called_, 1);
}

TEST_F(RecomputeOrCopyTest, RefusesACallbackWhoseRunsDoNotFit) {
  measure_links();
  DeviceRun* other = recomputable(1, kCheap, {0, 3});
  EXPECT_OK(machine_.evict(other));
  DeviceRun* run = machine_.add({0, 2});
  EXPECT_OK(machine_.write(run, 2));
  bool uses_other = true;
  set(run, kCheap, [&](StreamId on) {
    if (uses_other) TESSERA_TRY(machine_.check(other, 1, on));
    return machine_.launch(run, 2, on, Access::kWrite);
  });
  EXPECT_OK(machine_.evict(run));
  EXPECT_FALSE(machine_.check(run, 2).is_ok());
  EXPECT_EQ(machine_.valid(), "ok");
  uses_other = false;
  EXPECT_OK(machine_.check(run, 2));
  EXPECT_OK(machine_.check(other, 1));
}

TEST_F(RecomputeOrCopyTest, DropsRunsWhenMemoryIsShort) {
  measure_links();
  const Bytes out = residency().figures().stats().bytes_out;
  std::vector<DeviceRun*> runs;
  for (std::uint64_t i = 0; i < 12; ++i) runs.push_back(recomputable(i));
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
    ASSERT_EQ(machine_.valid(), "ok");
  }
  EXPECT_GT(called_, 12);
  EXPECT_EQ(residency().figures().stats().bytes_out, out) << "all of it was cheaper to recompute";
}

TEST_F(RecomputeOrCopyTest, APlanMayForceRecompute) {
  DeviceRun* run = recomputable(5, kDear, {0, 2});
  DeviceRun* other = machine_.add({0, 2});
  EXPECT_OK(machine_.write(other, 1));
  Iteration iteration;
  iteration.runs = {{.bytes = 4_MiB, .recompute = kDear}, {.bytes = 4_MiB}};
  iteration.uses = {{.run = 0}, {.run = 1}};
  iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}};
  const auto policy = make_policy("lru").take();
  const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
  const Strategy strategy{"test", {{.gap = gap, .back_at = 0, .to = Location::kNowhere}}, policy.get()};
  residency().activate_plan(iteration, strategy);
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(machine_.check(run, 5));
    EXPECT_OK(machine_.settle());
    residency().advance();
    EXPECT_TRUE(is_nowhere(run));
    EXPECT_OK(machine_.check(other, 1));
  }
  EXPECT_EQ(called_, 2);
}

TEST(RecomputeBackedTest, NeverDropsPagesThatUnseenWorkMayTouch) {
  ResidencyMachine machine({.device = 8_MiB, .backing = 32_MiB});
  DeviceRun* run = machine.add();
  EXPECT_OK(machine.write(run, 1));
  EXPECT_OK(machine.residency().recomputation().set(run, {[](StreamId) { return Status(); }, kCheap}));
  EXPECT_OK(machine.evict(run));
  EXPECT_EQ(machine.residency().figures().whereabouts(*run)[2], 2_MiB);
  EXPECT_OK(machine.check(run, 1));
}

}  // namespace
}  // namespace tessera
