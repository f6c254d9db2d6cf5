#include "residency/iteration/shared_run_rewrite.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/virtual_clock.hpp"
#include "residency/iteration/launch_history.hpp"
#include "residency/iteration/recorded_iteration.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

// Blocks a and b have runs of their own in the first iteration and share one in the second.
class SharedRunRewriteTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kAll = LaunchHistory::kMostSteps;
  static constexpr std::uint64_t kShared = ~std::uint64_t{0};

  // A launch of this work; returns its signature, as computed by the tracker.
  std::uint64_t launch(const int& work, std::vector<LaunchLog::Use> uses) {
    std::ranges::stable_sort(uses, {}, [](const LaunchLog::Use& use) {
      return role_of(use.run->shape.bytes(), use.run->tag, use.writes, use.run->name);
    });
    const std::uint64_t signature =
        signature_of(&work, uses, [](const LaunchLog::Use& use) { return use.run->shape.bytes(); });
    history_.remember({.work = &work, .epoch = ++epoch_, .number = ++number_}, signature, uses, uses.size(),
                      Nanoseconds());
    return signature;
  }
  // Four launches: a is written, b is written, both are used, a is used; b is freed before the last.
  std::vector<std::uint64_t> go_through(DeviceRun& a, DeviceRun& b) {
    std::vector<std::uint64_t> signatures;
    const bool is_one = &a == &b;
    signatures.push_back(launch(works_[0], {{.run = &a, .writes = true, .fresh = true}, {.run = &weight_}}));
    signatures.push_back(launch(works_[1], {{.run = &b, .writes = true, .fresh = !is_one}}));
    std::vector<LaunchLog::Use> both{{.run = &a, .writes = is_one}, {.run = &b, .writes = true}};
    if (is_one) both.pop_back();
    signatures.push_back(launch(works_[2], both));
    b_freed_ = epoch_ + 1;
    signatures.push_back(launch(works_[3], {{.run = &a}}));
    return signatures;
  }
  std::vector<MovedBlock> moved(Epoch before) const {
    return {{.run = a_.name,
             .made = before,
             .freed = epoch_ + 1,
             .to = kShared,
             .bytes = shared_.shape.bytes(),
             .freed_before = Epoch()},
            {.run = b_.name,
             .made = before + 1,
             .freed = b_freed_,
             .to = kShared,
             .bytes = shared_.shape.bytes(),
             .freed_before = std::nullopt}};
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  Stopwatches watches_{sim_, DeviceId(0), 4};
  LaunchHistory history_{watches_};
  const int works_[4] = {};
  DeviceRun a_{Address(1 << 26), RunShape{0, 2}, TagId()}, b_{Address(2 << 26), RunShape{0, 2}, TagId()};
  DeviceRun shared_{Address(3 << 26), RunShape{0, 3}, TagId(), {.record = nullptr, .words = {}, .name = kShared}};
  DeviceRun weight_{Address(4 << 26), RunShape{0, 4}, TagId()};
  Epoch epoch_{10}, b_freed_;
  std::uint64_t number_ = 0;
};

TEST_F(SharedRunRewriteTest, ARewrittenIterationEqualsTheNextOne) {
  const Epoch before = epoch_;
  const auto alone = go_through(a_, b_);
  history_.rewrite(moved(before));
  const auto as_rewritten = history_.last_signatures(4);
  EXPECT_NE(as_rewritten, alone);
  EXPECT_EQ(go_through(shared_, shared_), as_rewritten);
}

TEST_F(SharedRunRewriteTest, ASharedRunIsFreshOnce) {
  const Epoch before = epoch_;
  go_through(a_, b_);
  history_.rewrite(moved(before));
  const Iteration iteration = iteration_of(history_.record(), 4, kAll);
  ASSERT_EQ(iteration.runs.size(), 2u);
  ASSERT_EQ(iteration.uses.size(), 5u);
  std::vector<bool> fresh, writes;
  for (const RunUse& use : iteration.uses) {
    if (iteration.runs[use.run].bytes == weight_.shape.bytes()) continue;
    fresh.push_back(use.fresh);
    writes.push_back(use.writes);
  }
  EXPECT_EQ(fresh, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(writes, (std::vector<bool>{true, true, true, false})) << "it is written where one of its blocks is";
}

TEST_F(SharedRunRewriteTest, ASharedRunKnowsWhenItsBlocksWereFreed) {
  const Epoch before = epoch_;
  go_through(a_, b_);
  const std::vector<MovedBlock> blocks = moved(before);
  launch(works_[3], {});
  history_.rewrite(std::vector<MovedBlock>{{.run = blocks[0].run,
                                            .made = blocks[0].made,
                                            .freed = epoch_ + 1,
                                            .to = kShared,
                                            .bytes = blocks[0].bytes,
                                            .freed_before = Epoch()},
                                           blocks[1]});
  go_through(shared_, shared_);
  launch(works_[3], {});
  const Iteration iteration = iteration_of(history_.record(), 5, kAll);
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].lingers, 1u) << "one launch behind its last use";
}

TEST_F(SharedRunRewriteTest, OtherBlocksOfTheRunAreNotRewritten) {
  launch(works_[0], {{.run = &a_, .writes = true, .fresh = true}});
  const Epoch before = epoch_;
  const std::uint64_t first = history_.last_signatures(1)[0];
  go_through(a_, b_);
  const std::vector<MovedBlock> blocks = moved(before);
  const std::uint64_t next = launch(works_[1], {{.run = &a_, .writes = true, .fresh = true}});
  history_.rewrite(blocks);
  EXPECT_EQ(history_.last_signatures(6).front(), first);
  EXPECT_EQ(history_.last_signatures(1)[0], next);
}

TEST_F(SharedRunRewriteTest, ASmallRunInASharedRunCounts) {
  DeviceRun small{Address(5 << 26), RunShape{0, 1}, TagId()};
  const LaunchLog::Use use{.run = &small, .writes = true, .fresh = true};
  const Epoch before = epoch_;
  history_.remember({.work = &works_[0], .epoch = ++epoch_, .number = ++number_}, 0, {&use, 1}, 0, Nanoseconds());
  EXPECT_TRUE(iteration_of(history_.record(), 1, kAll).uses.empty());
  history_.rewrite(std::vector<MovedBlock>{{.run = small.name,
                                            .made = before,
                                            .freed = Epoch(),
                                            .to = kShared,
                                            .bytes = shared_.shape.bytes(),
                                            .freed_before = Epoch()}});
  const Iteration iteration = iteration_of(history_.record(), 1, kAll);
  ASSERT_EQ(iteration.uses.size(), 1u);
  EXPECT_TRUE(iteration.small.runs.empty());
  EXPECT_EQ(iteration.runs[iteration.uses[0].run].bytes, shared_.shape.bytes());
}

}  // namespace
}  // namespace tessera
