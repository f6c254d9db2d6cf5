// Work that uses a run without announcing it: work queued before the run's eviction begins is waited for, and a run
// stays for a few launches after its last announced use.
#include <algorithm>
#include <thread>

#include "held_kernel.hpp"
#include "policy/ranking.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;  // a test has a member Run() of its own

// The most recently used run is the first victim.
class NewestFirst final : public Policy {
 public:
  std::string_view name() const override { return "newest first"; }
  Decision decide(const Snapshot& snapshot) const override {
    std::vector<RankedRun> ranked;
    for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, static_cast<double>(run.used.value())});
    return highest_first(std::move(ranked), snapshot.need);
  }
};

class UnseenWork : public ::testing::Test {
 protected:
  // Queues a kernel on its own stream that waits for let_go() and then uses the run. Only the stream is announced.
  void queue_unseen(AnyRun* run, std::uint64_t generation, Access access) {
    const StreamId other = machine_.stream();
    const std::uint32_t slot = machine_.residency().begin_unnamed(other);
    ASSERT_OK(kernel_.launch(machine_.sim(), other));
    ASSERT_OK(machine_.launch(run, generation, other, access));
    machine_.residency().end_unnamed(other, slot);
  }
  // Evicts the run while that kernel waits; the kernel continues once the eviction has recorded the work before it.
  void evict_meanwhile(AnyRun* run) {
    const std::uint64_t before = machine_.fault().calls(DriverCall::kRecordEvent);
    std::atomic<bool> over{false};
    std::thread evicting([&] {
      EXPECT_OK(machine_.evict(run));
      over.store(true);
    });
    while (machine_.fault().calls(DriverCall::kRecordEvent) == before && !over.load()) std::this_thread::yield();
    kernel_.let_go();
    evicting.join();
  }

  ResidencyMachine machine_;
  HeldKernel kernel_;
};

TEST_F(UnseenWork, ItsWritesAreInTheCopy) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  queue_unseen(run, 2, Access::kWrite);
  evict_meanwhile(run);
  EXPECT_EQ(run->missing.load(), 1U);
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(UnseenWork, ARunItReadsStaysMappedEvenWithAValidCopy) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  queue_unseen(run, 1, Access::kRead);
  evict_meanwhile(run);
  EXPECT_EQ(run->missing.load(), 1U);
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(UnseenWork, WorkOnAStreamThatCannotBeFencedIsWaitedForToo) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  const StreamId other = machine_.stream();
  const std::uint32_t slot = machine_.residency().begin_unnamed(kNoStream);
  ASSERT_OK(machine_.launch(run, 2, other, Access::kWrite));
  machine_.residency().end_unnamed(kNoStream, slot);
  ASSERT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 2));
}

// With a device of four runs and the policy of the test: the victim when a fifth is added.
class Grace : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  Grace() { machine_.residency().expect_unseen_work(); }

  AnyRun* victim_of(std::vector<AnyRun*> runs) {
    const auto there = [](const AnyRun* run) { return run->missing.load() == 0; };
    EXPECT_OK(machine_.write(machine_.add({0, 2}), 1));
    EXPECT_OK(machine_.settle());
    EXPECT_EQ(std::ranges::count_if(runs, there), 3);
    return *std::ranges::find_if_not(runs, there);
  }

  ResidencyMachine machine_{{.device = 16_MiB, .options = {.grace = GetParam()}}};
};

TEST_P(Grace, TheVictimIsNoRunOfTheLastLaunches) {
  machine_.residency().set_policy(std::make_unique<NewestFirst>());
  const auto runs = machine_.add_many(4, {0, 2});
  for (AnyRun* const run : runs) ASSERT_OK(machine_.write(run, 1));
  // The newest run with that many launches after its use; if there is none, any may be evicted.
  const std::size_t behind = GetParam() < 4 ? GetParam() : 0;
  EXPECT_EQ(victim_of(runs), runs[3 - behind]);
}

TEST_P(Grace, APlanEvictsARunOnlyAfterTheGraceLaunches) {
  const auto runs = machine_.add_many(4, {0, 2});
  for (AnyRun* const run : runs) ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  Iteration iteration;
  for (std::uint32_t i = 0; i < 4; ++i) {
    iteration.runs.push_back({.bytes = 4_MiB});
    iteration.uses.push_back({.run = i});
    iteration.steps.push_back({Nanoseconds(1), i, i + 1});
  }
  const std::unique_ptr<Policy> rest = make_policy("lru").take();
  const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
  machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0}}, rest.get()});
  std::uint32_t launches = 0;
  ASSERT_OK(machine_.touch({runs[0]}));
  for (;; ++launches) {
    machine_.residency().advance();
    ASSERT_OK(machine_.settle());
    if (runs[0]->missing.load() != 0 || launches == 3) break;
    ASSERT_OK(machine_.touch({runs[launches + 1]}));
  }
  EXPECT_EQ(launches, std::min(GetParam(), 3U));
  EXPECT_EQ(runs[0]->missing.load() != 0, GetParam() <= 3);
}

INSTANTIATE_TEST_SUITE_P(Of, Grace, ::testing::Values(0U, 1U, 2U, 16U));

}  // namespace
}  // namespace tessera
