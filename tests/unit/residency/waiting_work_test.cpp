// Work that may wait for the program: runs that the program knows to be free are evicted beside it, and nothing waits
// for it without a bound.
#include <thread>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;  // a test has a member Run() of its own

constexpr Nanoseconds kShortPatience(100'000'000);

class WaitingWork : public ::testing::Test {
 protected:
  explicit WaitingWork(const ResidencySetup& setup = {.device = 8_MiB, .patience = kShortPatience}) : machine_(setup) {
    machine_.residency().expect_unseen_work();
  }

  // The program waits for everything that it has queued there.
  void wait_for(StreamId stream) {
    const Epoch before = machine_.residency().before_wait();
    EXPECT_FALSE(before.is_never());
    ASSERT_OK(machine_.sim().synchronize(stream));
    machine_.residency().note_over(stream, before);
  }
  // A kernel that names no block, and runs until let_go().
  void hold(StreamId stream) {
    const std::uint32_t slot = machine_.residency().begin_unnamed(stream);
    ASSERT_OK(kernel_.launch(machine_.sim(), stream));
    machine_.residency().end_unnamed(stream, slot);
  }

  ResidencyMachine machine_;
  HeldKernel kernel_;
};

TEST_F(WaitingWork, EvictsARunWhoseWorkTheProgramWaitedFor) {
  AnyRun* const run = machine_.add();
  const StreamId stream = machine_.stream();
  ASSERT_OK(machine_.write(run, 1, stream));
  wait_for(stream);
  hold(stream);
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(run->missing.load(), 1U);
  kernel_.let_go();
  EXPECT_OK(machine_.check(run, 1, stream));
}

TEST_F(WaitingWork, ARunWithUnknownWorkIsBusyAndNothingHangs) {
  AnyRun* const run = machine_.add();
  const StreamId stream = machine_.stream();
  hold(stream);
  ASSERT_OK(machine_.write(run, 1, stream));
  EXPECT_EQ(machine_.evict(run).code(), Code::kBusy);
  EXPECT_EQ(run->missing.load(), 0U);
  kernel_.let_go();
  ASSERT_OK(machine_.settle());
  EXPECT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 1, stream));
}

TEST_F(WaitingWork, HeldVictimsDoNotBlockEvictableOnes) {
  const auto held = machine_.add_many(2), free = machine_.add_many(2);
  const StreamId waiting = machine_.stream(), other = machine_.stream();
  hold(waiting);
  for (AnyRun* run : held) ASSERT_OK(machine_.write(run, 1, waiting));  // the oldest: a policy's first choice
  for (AnyRun* run : free) ASSERT_OK(machine_.write(run, 1, other));
  AnyRun* const more = machine_.add({0, 2});
  ASSERT_OK(machine_.write(more, 1, other));
  for (AnyRun* run : held) EXPECT_EQ(run->missing.load(), 0U);
  for (AnyRun* run : free) EXPECT_EQ(run->missing.load(), 1U);
  kernel_.let_go();
  for (AnyRun* run : free) EXPECT_OK(machine_.check(run, 1, other));
}

TEST_F(WaitingWork, NothingEvictableIsOutOfMemory) {
  const auto held = machine_.add_many(4);
  const StreamId waiting = machine_.stream(), other = machine_.stream();
  hold(waiting);
  for (AnyRun* run : held) ASSERT_OK(machine_.write(run, 1, waiting));
  AnyRun* const more = machine_.add();
  const Status refused = machine_.write(more, 1, other);
  EXPECT_EQ(refused.code(), Code::kOutOfMemory);
  EXPECT_NE(refused.message().find("may be waiting for the program"), std::string_view::npos) << refused.to_string();
  kernel_.let_go();
  ASSERT_OK(machine_.settle());
  EXPECT_OK(machine_.write(more, 1, other));  // it continues as soon as the work has finished
}

TEST_F(WaitingWork, TheProgramMayReleaseTheKernelDuringTheWait) {
  const auto held = machine_.add_many(4);
  const StreamId waiting = machine_.stream(), other = machine_.stream();
  hold(waiting);
  for (AnyRun* run : held) ASSERT_OK(machine_.write(run, 1, waiting));
  AnyRun* const more = machine_.add();
  std::jthread program([&] {  // needs the lock held by the call that looks for room
    ASSERT_OK(machine_.residency().poll_streams());
    kernel_.let_go();
  });
  EXPECT_OK(machine_.write(more, 1, other));
}

TEST_F(WaitingWork, ADeadRunIsNotWaitedFor) {
  const auto runs = machine_.add_many(4);
  const StreamId waiting = machine_.stream(), other = machine_.stream();
  for (std::size_t i = 1; i < runs.size(); ++i) ASSERT_OK(machine_.write(runs[i], 1, other));
  hold(waiting);
  ASSERT_OK(machine_.write(runs[0], 1, waiting));
  runs[0]->live.store(0);
  (void)machine_.residency().note_free(runs[0], waiting);
  EXPECT_OK(machine_.write(machine_.add(), 1, other));
  EXPECT_EQ(machine_.residency().runs().remove(runs[0]).code(), Code::kBusy);
  kernel_.let_go();
  ASSERT_OK(machine_.settle());
  EXPECT_OK(machine_.residency().runs().remove(runs[0]));
}

TEST_F(WaitingWork, AnUnreturnedLaunchDoesNotCountAsWaitedFor) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  const StreamId stream = machine_.stream();
  std::uint32_t slot = 0;
  std::thread([&] { slot = machine_.residency().begin_unnamed(stream); }).join();
  EXPECT_TRUE(machine_.residency().before_wait().is_never());
  machine_.residency().end_unnamed(stream, slot);
  EXPECT_FALSE(machine_.residency().before_wait().is_never());
}

// One page is to leave ahead of need as soon as there are more runs than fit.
class WorkAhead : public WaitingWork {
 protected:
  WorkAhead()
      : WaitingWork({.device = 8_MiB,
                     .policy = "lru",
                     .options = {.low_percent = 20, .high_percent = 25},
                     .patience = kShortPatience}) {}
};

TEST_F(WorkAhead, DefersAnUnmapDuringAnUnreturnedLaunch) {
  const StreamId busy = machine_.stream(), launching = machine_.stream();
  const auto runs = machine_.add_many(4);
  for (AnyRun* run : runs) ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  (void)machine_.add();  // one too many
  hold(busy);
  while (runs[0]->evicting_bytes() == Bytes()) machine_.residency().advance();  // waits for that work to be over
  std::uint32_t slot = 0;
  std::thread([&] { slot = machine_.residency().begin_unnamed(launching); }).join();
  kernel_.let_go();
  ASSERT_OK(machine_.sim().synchronize(busy));
  machine_.residency().advance();
  EXPECT_TRUE(runs[0]->has(PageState::kParting));
  EXPECT_EQ(machine_.valid(), "ok");
  machine_.residency().end_unnamed(launching, slot);
  ASSERT_OK(machine_.settle());
  EXPECT_TRUE(runs[0]->has(PageState::kCold));
  EXPECT_OK(machine_.check(runs[0], 1));
}

// Callers that announce every use: copies out are queued behind the work of their runs.
class QueuedCopies : public ::testing::Test {
 protected:
  // By plan, behind its only use in an iteration of four steps.
  void send_behind_its_work(AnyRun* run, StreamId stream, bool unseen) {
    if (unseen) machine_.residency().expect_unseen_work();
    Iteration iteration;
    for (std::uint32_t i = 0; i < 4; ++i) {
      iteration.runs.push_back({.bytes = 4_MiB});
      iteration.uses.push_back({.run = i, .writes = true});
      iteration.steps.push_back({Nanoseconds(1), i, i + 1});
    }
    const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
    machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0}}, rest_.get()});
    Use use;
    ASSERT_OK(machine_.residency().begin_use({&run, 1}, stream, Access::kWrite, Use::Kind::kGate, use));
    ASSERT_OK(kernel_.launch(machine_.sim(), stream));
    ASSERT_OK(machine_.launch(run, 2, stream, Access::kWrite));
    machine_.residency().end_use({&run, 1}, stream, use);
    machine_.residency().advance();
  }

  // On a slow machine even work that waits for nothing takes longer than the patience.
  void await_device() { ASSERT_OK(machine_.sim().synchronize(DeviceId(0))); }
  void end_the_work() {
    kernel_.let_go();
    await_device();
  }

  const std::unique_ptr<Policy> rest_ = make_policy("lru").take();
  ResidencyMachine machine_{{.device = 16_MiB, .policy = "lru", .patience = kShortPatience}};
  HeldKernel kernel_;
};

TEST_F(QueuedCopies, NoCallWaitsForACopyQueuedAfterEndlessWork) {
  const StreamId waiting = machine_.stream();
  const auto runs = machine_.add_many(4, {0, 2});
  for (AnyRun* run : runs) ASSERT_OK(machine_.write(run, 1));
  await_device();
  ASSERT_OK(machine_.settle());
  send_behind_its_work(runs[0], waiting, false);
  ASSERT_TRUE(runs[0]->has(PageState::kEvicting));
  AnyRun* const more = machine_.add({0, 2});
  const Status refused = machine_.write(more, 1);
  EXPECT_EQ(refused.code(), Code::kOutOfMemory) << refused.to_string();
  EXPECT_EQ(machine_.residency().runs().remove(runs[0]).code(), Code::kBusy);
  EXPECT_EQ(machine_.valid(), "ok");
  end_the_work();
  ASSERT_OK(machine_.settle());
  EXPECT_OK(machine_.write(more, 1));
  EXPECT_OK(machine_.check(runs[0], 2, waiting));
}

TEST_F(QueuedCopies, EvictsACleanRunWhileACopyIsQueued) {
  const StreamId waiting = machine_.stream();
  const auto runs = machine_.add_many(4, {0, 2});
  for (AnyRun* run : runs) ASSERT_OK(machine_.write(run, 1));
  await_device();
  ASSERT_OK(machine_.evict(runs[1]));
  ASSERT_OK(machine_.check(runs[1], 1));
  await_device();
  ASSERT_OK(machine_.settle());
  send_behind_its_work(runs[0], waiting, false);
  ASSERT_TRUE(runs[0]->has(PageState::kEvicting));
  EXPECT_OK(machine_.write(machine_.add({0, 2}), 1));
  EXPECT_EQ(runs[1]->missing.load(), 2U);
  end_the_work();
  ASSERT_OK(machine_.settle());
}

TEST_F(QueuedCopies, WithoutSecondMappingsQueuesNoCopyAfterUnseenWork) {
  const StreamId waiting = machine_.stream();
  const auto runs = machine_.add_many(4, {0, 2});
  for (AnyRun* run : runs) ASSERT_OK(machine_.write(run, 1));
  await_device();
  ASSERT_OK(machine_.settle());
  machine_.fault().fail({DriverCall::kReserve, 1, Status(Code::kDriver, "injected", 999), true});
  send_behind_its_work(runs[0], waiting, true);
  EXPECT_TRUE(runs[0]->has(PageState::kResident));
  AnyRun* const more = machine_.add({0, 2});
  EXPECT_OK(machine_.write(more, 1));  // another one leaves
  end_the_work();
  ASSERT_OK(machine_.settle());
  machine_.fault().clear();
  EXPECT_OK(machine_.check(runs[0], 2, waiting));
}

}  // namespace
}  // namespace tessera
