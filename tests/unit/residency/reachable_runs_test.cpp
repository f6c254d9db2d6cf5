// Runs that launches do not show: what leaves the device stays mapped, in host memory, and kernels that use it
// unannounced find it there.
#include <algorithm>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;

// The device has eight base pages; every test is one in which work may be unannounced.
class ReachableRuns : public ::testing::Test {
 protected:
  explicit ReachableRuns(ResidencySetup setup = {}) : machine_(with_net(std::move(setup))) {
    machine_.residency().expect_unseen_work();
  }
  static ResidencySetup with_net(ResidencySetup setup) {
    setup.options.by_visibility = true;
    setup.zero_copy = true;
    return setup;
  }
  Residency& residency() { return machine_.residency(); }
  static Bytes reachable(const AnyRun* run) { return run->bytes_in(PageState::kReachable); }
  static Bytes resident(const AnyRun* run) { return run->bytes_in(PageState::kResident); }
  // As cudaMemcpy: it names the run, but no kernel does.
  void copy_to(AnyRun* run, std::uint64_t generation) {
    Use use;
    use.copies = true;
    ASSERT_OK(residency().begin_use({&run, 1}, StreamId(0), Access::kWrite, Use::Kind::kGate, use));
    ASSERT_OK(machine_.launch(run, generation, StreamId(0), Access::kWrite));
    residency().end_use({&run, 1}, StreamId(0), use);
  }
  // A kernel that no call shows: only its stream is announced.
  void use_unseen(AnyRun* run, std::uint64_t generation, Access access) {
    const std::uint32_t slot = residency().begin_unnamed(StreamId(0));
    ASSERT_OK(machine_.launch(run, generation, StreamId(0), access));
    residency().end_unnamed(StreamId(0), slot);
  }
  // Named by launches again and again, so that these are seen.
  std::vector<AnyRun*> used_runs(std::size_t count, RunShape shape = {0, 2}) {
    const auto runs = machine_.add_many(count, shape);
    for (std::uint64_t round = 1; round <= 2; ++round) {
      for (AnyRun* const run : runs) EXPECT_OK(machine_.write(run, round));
    }
    return runs;
  }
  void expect_right() {
    ASSERT_OK(machine_.settle());
    EXPECT_EQ(machine_.wrong(), 0U);
    EXPECT_EQ(machine_.valid(), "ok");
  }

  ResidencyMachine machine_;
};

TEST_F(ReachableRuns, AKernelFindsWhatNoLaunchHasNamed) {
  const auto filled = machine_.add_many(6, {0, 2});  // one and a half times the device
  for (AnyRun* const run : filled) copy_to(run, 1);
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(reachable(filled[0]) + reachable(filled[1]), 8_MiB);
  for (AnyRun* const run : filled) use_unseen(run, 1, Access::kRead);
  for (AnyRun* const run : filled) use_unseen(run, 2, Access::kWrite);
  for (AnyRun* const run : filled) use_unseen(run, 2, Access::kRead);
  expect_right();
  for (AnyRun* const run : filled) ASSERT_OK(machine_.check(run, 2));
  expect_right();
}

TEST_F(ReachableRuns, ALaunchThatNamesItFetchesIt) {
  const auto filled = machine_.add_many(5, {0, 2});
  for (AnyRun* const run : filled) copy_to(run, 1);
  ASSERT_EQ(reachable(filled[0]), 4_MiB);
  EXPECT_EQ(filled[0]->missing.load(), 2U);
  ASSERT_OK(machine_.check(filled[0], 1));
  EXPECT_EQ(resident(filled[0]), 4_MiB);
  EXPECT_EQ(machine_.residency().figures().stats().zero_copy_bytes, 0_B);
  expect_right();
}

TEST_F(ReachableRuns, WhatLaunchesNameLeavesAsBefore) {
  const auto runs = used_runs(6);
  ASSERT_OK(machine_.settle());
  for (AnyRun* const run : runs) {
    ASSERT_OK(machine_.check(run, 2));
    ASSERT_OK(machine_.settle());
  }
  std::uint64_t before = residency().figures().stats().evictions;
  for (AnyRun* const run : runs) ASSERT_OK(machine_.check(run, 2));
  ASSERT_OK(machine_.settle());
  EXPECT_GT(residency().figures().stats().evictions, before);
  for (const AnyRun* const run : runs) EXPECT_EQ(reachable(run), 0_B);
  EXPECT_EQ(residency().figures().stats().left_unreachable, 0U);
  expect_right();
}

TEST_F(ReachableRuns, WhatNoLaunchNamesLeavesLast) {
  AnyRun* const hidden = machine_.add({0, 2});
  copy_to(hidden, 1);
  const auto runs = used_runs(6);
  for (int round = 0; round < 3; ++round) {
    for (AnyRun* const run : runs) ASSERT_OK(machine_.check(run, 2));
  }
  EXPECT_EQ(resident(hidden), 4_MiB) << "though it was used before all others";
  use_unseen(hidden, 1, Access::kRead);
  expect_right();
}

TEST_F(ReachableRuns, ALaunchThatMayOnlyWriteItsAddressDownDoesNotShowIt) {
  AnyRun* const given = machine_.add({0, 2});
  Use use;
  ASSERT_OK(residency().begin_use({&given, 1}, StreamId(0), Access::kWrite, Use::Kind::kGate, use));
  ASSERT_OK(machine_.launch(given, 1, StreamId(0), Access::kWrite));
  Residency::note_unshown({&given, 1});
  residency().end_use({&given, 1}, StreamId(0), use);
  ASSERT_OK(machine_.evict(given));
  EXPECT_EQ(reachable(given), 4_MiB);
  use_unseen(given, 1, Access::kRead);
  ASSERT_OK(machine_.write(given, 2));
  ASSERT_OK(machine_.evict(given));
  EXPECT_EQ(given->bytes_in(PageState::kCold), 4_MiB) << "a launch has named it";
  expect_right();
}

// The launches name other runs, and the one in question is idle for longer than most programs leave one.
TEST_F(ReachableRuns, WhatWasNamedLongAgoStaysReachable) {
  AnyRun* const old = machine_.add({0, 2});
  ASSERT_OK(machine_.write(old, 1));
  AnyRun* const other = machine_.add();
  for (int i = 0; i < 5000; ++i) ASSERT_OK(machine_.touch({other}));
  ASSERT_OK(machine_.evict(old));
  EXPECT_EQ(reachable(old), 4_MiB);
  use_unseen(old, 1, Access::kRead);
  expect_right();
}

TEST_F(ReachableRuns, NothingStaysWhereEveryUseIsAnnounced) {
  ResidencyMachine machine(with_net({}));
  const auto runs = machine.add_many(6, {0, 2});
  for (AnyRun* const run : runs) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  for (const AnyRun* const run : runs) EXPECT_EQ(reachable(run), 0_B);
  EXPECT_GT(machine.residency().figures().stats().evictions, 0U);
}

TEST_F(ReachableRuns, SleepLeavesThemReachableAndWakeFetchesThem) {
  AnyRun* const hidden = machine_.add({0, 2});
  copy_to(hidden, 1);
  const Moved slept = residency().sleeper().sleep({}, {}).take();
  EXPECT_EQ(slept.moved, 4_MiB);
  EXPECT_EQ(reachable(hidden), 4_MiB);
  use_unseen(hidden, 1, Access::kRead);
  use_unseen(hidden, 2, Access::kWrite);
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(residency().sleeper().wake({}).take().moved, 4_MiB);
  EXPECT_EQ(resident(hidden), 4_MiB);
  ASSERT_OK(machine_.check(hidden, 2));
  expect_right();
}

TEST_F(ReachableRuns, TheyReturnWhereTheProgramWaitsAndThereIsRoom) {
  AnyRun* const hidden = machine_.add({0, 2});
  copy_to(hidden, 1);
  ASSERT_OK(machine_.evict(hidden));
  for (std::uint32_t i = 0; i < tessera::PartialRuns::kQuietPoints; ++i) {
    const Epoch before = residency().before_wait();
    ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
    residency().note_over(std::nullopt, before);
  }
  EXPECT_EQ(resident(hidden), 4_MiB);
  use_unseen(hidden, 1, Access::kRead);
  expect_right();
}

TEST_F(ReachableRuns, WhatEndsThereGivesItsMemoryBack) {
  AnyRun* const hidden = machine_.add({0, 2});
  copy_to(hidden, 1);
  ASSERT_OK(machine_.evict(hidden));
  const Bytes lent = machine_.tiers().zero_copy->usage().used;
  EXPECT_EQ(lent, 4_MiB);
  residency().note_free(hidden, StreamId(0));
  hidden->live.store(0);
  ASSERT_OK(machine_.settle());
  for (std::uint32_t i = 0; i < tessera::PartialRuns::kQuietPoints; ++i) {
    const Epoch before = residency().before_wait();
    residency().note_over(std::nullopt, before);
  }
  EXPECT_EQ(machine_.tiers().zero_copy->usage().used, 0_B);
  EXPECT_EQ(hidden->bytes_in(PageState::kEmpty), 4_MiB);
  expect_right();
}

TEST_F(ReachableRuns, ALaunchBesideThemCanUseMoreThanTheDevice) {
  const auto filled = machine_.add_many(5, {0, 2});
  for (AnyRun* const run : filled) copy_to(run, 1);
  ASSERT_EQ(reachable(filled[0]), 4_MiB);
  ASSERT_OK(machine_.touch({filled.begin(), filled.end()}));
  for (const AnyRun* const run : filled) EXPECT_EQ(run->missing.load(), 0U);
  for (AnyRun* const run : filled) ASSERT_OK(machine_.launch(run, 1, StreamId(0), Access::kRead));
  expect_right();
}

// The program repeats one use of each of these, in this order.
class ReachableRunsInAnIteration : public ReachableRuns {
 protected:
  void repeat(const std::vector<AnyRun*>& runs) {
    Iteration iteration;
    std::vector<AnyRun*> players;
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      const auto role = static_cast<std::uint32_t>(std::ranges::find(players, runs[i]) - players.begin());
      if (role == players.size()) {
        players.push_back(runs[i]);
        iteration.runs.push_back({.bytes = runs[i]->shape.bytes()});
      }
      iteration.uses.push_back({.run = role});
      iteration.steps.push_back({Nanoseconds(1), i, i + 1});
    }
    residency().activate_plan(iteration, {"test", {}, rest_.get()}, players);
  }
  void evict(AnyRun* run) {
    residency().advance();  // the launches so far are read
    ASSERT_OK(machine_.evict(run));
  }

 private:
  const std::unique_ptr<Policy> rest_ = make_policy("lru").take();
};

// As a buffer that the program fills in each iteration, and that kernels find by a table.
TEST_F(ReachableRunsInAnIteration, WhatItOnlyCopiesStaysReachable) {
  AnyRun *const used = machine_.add({0, 2}), *const filled = machine_.add({0, 3});
  repeat({used, filled});
  for (std::uint64_t round = 1; round <= 3; ++round) {
    ASSERT_OK(machine_.write(used, round));
    copy_to(filled, round);
  }
  evict(filled);
  EXPECT_NE(filled->uses.next, 0U) << "the next copy is foreseen";
  EXPECT_EQ(reachable(filled), 6_MiB);
  use_unseen(filled, 3, Access::kRead);
  evict(used);
  EXPECT_EQ(used->bytes_in(PageState::kCold), 4_MiB) << "a launch names it";
  expect_right();
}

// As the input of each iteration, in a block of its own.
TEST_F(ReachableRunsInAnIteration, WhatALaunchWillNameIsSeenBeforeThat) {
  AnyRun* const input = machine_.add({0, 2});
  AnyRun* const other = machine_.add({0, 3});
  repeat({input, input, other});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    copy_to(input, round);
    ASSERT_OK(machine_.check(input, round));
    ASSERT_OK(machine_.touch({other}));
    residency().note_free(input, StreamId(0));
  }
  copy_to(input, 3);
  evict(input);
  EXPECT_EQ(input->bytes_in(PageState::kCold), 4_MiB);
  ASSERT_OK(machine_.check(input, 3));
  expect_right();
}

// What was foreseen for the block before does not show the next one in the run.
TEST_F(ReachableRunsInAnIteration, TheNextBlockIsUnseenUntilItIsUsed) {
  for (const StreamId freed_on : {StreamId(0), kNoStream}) {
    AnyRun *const first = machine_.add({0, 2}), *const second = machine_.add({0, 3});
    repeat({first, second});
    ASSERT_OK(machine_.write(first, 1));
    ASSERT_OK(machine_.settle());
    residency().advance();
    ASSERT_NE(first->uses.next, 0U);
    residency().note_free(first, freed_on);
    evict(first);
    EXPECT_EQ(reachable(first), 4_MiB);
    ASSERT_OK(residency().runs().remove(first));
  }
}

// Host memory has 8 pages beside the staging reserve, and there is a file: half of it may be reachable.
class ReachableRunsWithAFile : public ReachableRuns {
 protected:
  ReachableRunsWithAFile() : ReachableRuns({.host = 16_MiB, .file = 64_MiB}) {}
};

TEST_F(ReachableRunsWithAFile, HalfOfHostMemoryStaysForWhatCanBeSpilled) {
  const auto filled = machine_.add_many(12, {0, 2});
  for (AnyRun* const run : filled) copy_to(run, 1);
  ASSERT_OK(machine_.settle());
  Bytes kept;
  for (const AnyRun* const run : filled) kept += reachable(run);
  EXPECT_GT(kept, 0_B);
  EXPECT_LE(kept, 8_MiB);
  EXPECT_GT(residency().figures().stats().left_unreachable, 0U);
  for (AnyRun* const run : filled) ASSERT_OK(machine_.check(run, 1));
  expect_right();
}

// Copies to the host are slow, and fingerprints are fast beside them. In virtual time.
class ReachableRunsWithChecks : public ReachableRuns {
 protected:
  ReachableRunsWithChecks()
      : ReachableRuns({.device = 8_MiB,
                       .host = 16_MiB,
                       .sim = {.memory = 64_MiB,
                               .inbound = {800'000'000, {}},
                               .outbound = {25'000'000, {}},
                               .fingerprints = {8'000'000'000, {}}},
                       .virtual_time = true}) {}
};

// There is no memory to map. For room in host memory the old copy of the page goes, by which it would be checked.
TEST_F(ReachableRunsWithChecks, WhatFindsNoRoomThereIsCopiedWhereItsOldCopyIsGone) {
  AnyRun* const hidden = machine_.add();
  copy_to(hidden, 0);
  ASSERT_OK(machine_.settle());
  machine_.fault().fail({DriverCall::kCreateFrame, 1, Status(Code::kOutOfMemory, "injected"), true});
  for (std::uint64_t generation = 1; generation < 3; ++generation) {  // what copies take is known after the first
    ASSERT_OK(machine_.evict(hidden));
    ASSERT_EQ(hidden->bytes_in(PageState::kCold), 2_MiB);
    copy_to(hidden, generation);
    ASSERT_OK(machine_.settle());
  }
  ASSERT_TRUE(hidden->pages[0].host) << "its old copy is still there";
  ASSERT_TRUE(hidden->pages[0].fingerprint.of_copy);
  use_unseen(hidden, 3, Access::kWrite);
  ASSERT_OK(machine_.settle());
  ASSERT_OK(machine_.evict(hidden));
  EXPECT_GT(residency().figures().stats().left_unreachable, 0U);
  EXPECT_EQ(machine_.valid(), "ok");
  ASSERT_OK(machine_.check(hidden, 3));
  expect_right();
  machine_.fault().clear();
}

// A kernel that waits for the program: what is reachable is used where it is.
TEST(ReachableRunsBehindWorkThatDoesNotEnd, AreUsedInHostMemory) {
  HeldKernel kernel;
  ResidencySetup setup{.zero_copy = true, .options = {.by_visibility = true}, .patience = Nanoseconds(20'000'000)};
  ResidencyMachine machine(setup);
  machine.residency().expect_unseen_work();
  AnyRun* const hidden = machine.add({0, 2});
  Use use;
  use.copies = true;
  ASSERT_OK(machine.residency().begin_use({&hidden, 1}, StreamId(0), Access::kWrite, Use::Kind::kGate, use));
  ASSERT_OK(machine.launch(hidden, 1, StreamId(0), Access::kWrite));
  machine.residency().end_use({&hidden, 1}, StreamId(0), use);
  Status evicted(Code::kBusy, "");  // as long as the work before it takes longer than the patience: the machine is busy
  while (evicted.code() == Code::kBusy) evicted = machine.evict(hidden);
  ASSERT_OK(evicted);
  ASSERT_EQ(hidden->bytes_in(PageState::kReachable), 4_MiB);
  const StreamId other = machine.stream();
  const std::uint32_t slot = machine.residency().begin_unnamed(other);
  ASSERT_OK(kernel.launch(machine.sim(), other));
  machine.residency().end_unnamed(other, slot);
  EXPECT_OK(machine.check(hidden, 1));
  EXPECT_EQ(hidden->bytes_in(PageState::kZeroCopy), 4_MiB);
  kernel.let_go();
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
}

}  // namespace
}  // namespace tessera
