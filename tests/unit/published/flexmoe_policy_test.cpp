#include "lab/published/flexmoe_policy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "demand_paging.hpp"
#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

// Experts are drawn with probability 1 / rank^exponent.
std::vector<std::size_t> zipf(double exponent, std::uint64_t seed) {
  constexpr std::size_t kExperts = 64;
  std::vector<double> until;
  double sum = 0;
  for (std::size_t i = 1; i <= kExperts; ++i) until.push_back(sum += std::pow(static_cast<double>(i), -exponent));
  std::mt19937_64 random(seed);
  std::vector<std::size_t> accesses;
  for (int i = 0; i < 6000; ++i) {
    const double at = static_cast<double>(random() >> 11) / 9007199254740992.0 * sum;
    accesses.push_back(static_cast<std::size_t>(std::lower_bound(until.begin(), until.end(), at) - until.begin()));
  }
  return accesses;
}

TEST(FlexmoePolicy, OnZipfAccessesItHitsMoreOftenThanLru) {
  for (const double exponent : {0.8, 1.0, 1.2}) {
    for (const std::size_t room : {8u, 16u, 32u}) {
      const std::vector<std::size_t> accesses = zipf(exponent, 3);
      EXPECT_GT(test::page_on_demand(FlexmoePolicy(), accesses, room).hits,
                test::page_on_demand(LruPolicy(), accesses, room).hits)
          << exponent << " " << room;
    }
  }
}

TEST(FlexmoePolicy, MovesOneExpertPerMissAndNoMore) {
  EXPECT_EQ(test::page_on_demand(FlexmoePolicy(), zipf(1, 5), 16).most_moves, 1u);
}

TEST(FlexmoePolicy, ASingleUseDoesNotMakeAColdExpertHot) {
  Snapshot snapshot{.need = 2_MiB, .epoch = Epoch(1000), .runs = {}};
  snapshot.runs.push_back({.run = 1, .bytes = 2_MiB, .used = Epoch(990), .often = kOneEvent});
  snapshot.runs.push_back({.run = 2, .bytes = 2_MiB, .used = Epoch(950), .often = 9 * kOneEvent});
  EXPECT_EQ(FlexmoePolicy().decide(snapshot).victims, std::vector<std::size_t>{1});
}

TEST(FlexmoePolicy, EvictsTheLeastRecentlyUsedAmongEquals) {
  Snapshot snapshot{.need = 2_MiB, .epoch = Epoch(1000), .runs = {}};
  for (const std::uint64_t used : {990u, 950u, 970u}) {
    snapshot.runs.push_back({.run = snapshot.runs.size(), .bytes = 2_MiB, .used = Epoch(used), .often = 5});
  }
  EXPECT_EQ(FlexmoePolicy().decide(snapshot).victims, std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace tessera
