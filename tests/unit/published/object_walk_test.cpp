#include "lab/published/object_walk.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace tessera {
namespace {

TEST(ObjectWalk, RunsOfLikeSizeShareAClass) {
  test::IterationBuilder build;
  build.step(1, {test::reads(build.run(5_MiB)), test::reads(build.run(7_MiB)), test::reads(build.run(9_MiB))});
  const Machine machine = test::machine_of(64_MiB, 25e9);
  const ObjectWalk walk(build.done(), machine);
  ASSERT_EQ(walk.classes().size(), 2u);
  EXPECT_EQ(walk.classes()[0].object, 7_MiB);
  EXPECT_EQ(walk.classes()[0].least, 2u);
  EXPECT_EQ(walk.classes()[0].most, 2u);
  EXPECT_EQ(walk.bytes_of({2, 1}), 23_MiB);
}

TEST(ObjectWalk, PinnedRunsNeedNoObject) {
  Iteration iteration = test::stack(3, 8_MiB, 1000);
  iteration.runs[1].pinned = true;
  const Machine machine = test::machine_of(64_MiB, 25e9);
  const ObjectWalk walk(iteration, machine);
  EXPECT_EQ(walk.capacity(), 56_MiB);
  EXPECT_EQ(walk.classes()[0].most, 2u);
}

TEST(ObjectWalk, SharesMemoryEvenlyAmongUnconstrainedClasses) {
  test::IterationBuilder build;
  for (int i = 0; i < 5; ++i) build.step(1, {test::reads(build.run(8_MiB)), test::reads(build.run(16_MiB))});
  const auto even = [&](Bytes device) {
    const Machine machine = test::machine_of(device, 25e9);
    return ObjectWalk(build.done(), machine).even_counts();
  };
  EXPECT_EQ(even(24_MiB), (ObjectCounts{1, 1}));
  EXPECT_EQ(even(72_MiB), (ObjectCounts{3, 3}));
  EXPECT_EQ(even(1_GiB), (ObjectCounts{5, 5}));
}

TEST(ObjectWalk, EvictsTheRunUsedFarthestInTheFuture) {
  const Iteration iteration = test::stack(5, 8_MiB, 1'000'000);
  const Machine machine = test::machine_of(64_MiB, 25e9);
  const ObjectWalk walk(iteration, machine);
  EXPECT_TRUE(test::moves_of(walk.plan({5})).empty());
  const OffloadPlan one = test::moves_of(walk.plan({4}));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].gap.run, 0u);
  EXPECT_EQ(test::moves_of(walk.plan({2})).size(), 3u);
}

}  // namespace
}  // namespace tessera
