#include "policy/delta_policy.hpp"

#include <gtest/gtest.h>

#include "demand_paging.hpp"
#include "iterations.hpp"
#include "planning/forecast.hpp"
#include "policy/belady_policy.hpp"
#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

RunPicture picture(std::size_t name, Bytes bytes, std::uint64_t used, Bytes clean = {}) {
  return {.run = name, .bytes = bytes, .clean = clean, .used = Epoch(used)};
}

std::vector<std::size_t> order(std::vector<RunPicture> runs) {
  return DeltaPolicy().decide({.need = 1_GiB, .epoch = Epoch(100), .runs = std::move(runs)}).victims;
}

TEST(DeltaPolicy, EvictsLargeIdleAndCleanRunsFirst) {
  EXPECT_EQ(order({picture(0, 2_MiB, 50), picture(1, 64_MiB, 50)}).front(), 1u);
  EXPECT_EQ(order({picture(0, 4_MiB, 90), picture(1, 4_MiB, 10)}).front(), 1u);
  EXPECT_EQ(order({picture(0, 4_MiB, 50), picture(1, 4_MiB, 50, 4_MiB)}).front(), 1u);
}

TEST(DeltaPolicy, FromAColdStartItMovesNoLessThanBeladyAndNoMoreThanLru) {
  std::vector<std::size_t> accesses;
  for (int turn = 0; turn < 6; ++turn) {
    for (std::size_t i = 0; i < 12; ++i) accesses.push_back(i);
    for (std::size_t i = 12; i-- > 0;) accesses.push_back(i);
  }
  const std::uint64_t ours = test::page_on_demand(DeltaPolicy(), accesses, 7).misses;
  EXPECT_GE(ours, test::page_on_demand(BeladyPolicy(), accesses, 7, true).misses);
  EXPECT_LE(ours, test::page_on_demand(LruPolicy(), accesses, 7).misses);
}

TEST(DeltaPolicy, RecomputesWhenTheCopyWouldStall) {
  test::TrainingShape shape;
  shape.recompute = Nanoseconds(1000);
  const Iteration iteration = test::training(shape);
  const auto recomputes = [&](double rate) {
    std::size_t count = 0;
    for (const OffloadInterval& interval : DeltaPolicy().plan(iteration, test::machine_of(80_MiB, rate))) {
      count += interval.to == Location::kNowhere ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(recomputes(1000e9), 0u);
  EXPECT_GT(recomputes(0.5e9), 0u);
}

}  // namespace
}  // namespace tessera
