#include "policy/mru_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "demand_paging.hpp"
#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

RunPicture picture_at(std::size_t name, std::uint64_t used, bool dead = false) {
  return {.run = name, .bytes = 2_MiB, .used = Epoch(used), .dead = dead};
}

TEST(MruPolicy, EvictsTheNewestUseFirst) {
  const Snapshot snapshot{
      .need = 4_MiB, .epoch = Epoch(100), .runs = {picture_at(1, 30), picture_at(2, 10), picture_at(3, 90)}};
  EXPECT_EQ(MruPolicy().decide(snapshot).victims, (std::vector<std::size_t>{3, 1}));
}

TEST(MruPolicy, EvictsDeadRunsFirst) {
  const Snapshot snapshot{.need = 2_MiB, .epoch = Epoch(100), .runs = {picture_at(1, 90), picture_at(2, 10, true)}};
  EXPECT_EQ(MruPolicy().decide(snapshot).victims, std::vector<std::size_t>{2});
}

TEST(MruPolicy, HitsOnScansWhereLruNeverDoes) {
  constexpr std::size_t kRuns = 20, kRoom = 10, kScans = 30;
  std::vector<std::size_t> accesses;
  for (std::size_t i = 0; i < kScans * kRuns; ++i) accesses.push_back(i % kRuns);
  EXPECT_EQ(test::page_on_demand(LruPolicy(), accesses, kRoom).hits, 0u);
  EXPECT_GE(test::page_on_demand(MruPolicy(), accesses, kRoom).hits, (kScans - 1) * (kRoom - 1));
}

}  // namespace
}  // namespace tessera
