#include "policy/recency_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

RunPicture used_at(std::uint64_t used, std::uint64_t gap) {
  RunPicture picture;
  picture.bytes = 2_MiB;
  picture.used = Epoch(used);
  picture.gap = gap;
  return picture;
}

TEST(RecencyPolicy, ARunIsExpectedOneGapAfterItsLastUse) {
  EXPECT_EQ(RecencyPolicy::expected_wait(used_at(100, 10), Epoch(103)), 7u);
  EXPECT_EQ(RecencyPolicy::expected_wait(used_at(100, 10), Epoch(100)), 10u);
}

TEST(RecencyPolicy, ASlightlyOverdueRunIsExpectedSoon) {
  EXPECT_EQ(RecencyPolicy::expected_wait(used_at(100, 10), Epoch(115)), 0u);
}

TEST(RecencyPolicy, AFailedPredictionCountsAsNone) {
  EXPECT_EQ(RecencyPolicy::expected_wait(used_at(100, 10), Epoch(121)), 21u);
  EXPECT_EQ(RecencyPolicy::expected_wait(used_at(100, 0), Epoch(121)), 21u);
}

TEST(RecencyPolicy, EvictsTheCheapestAmongEqualsFirst) {
  Snapshot snapshot;
  snapshot.epoch = Epoch(100);
  snapshot.need = 8_MiB;
  for (std::size_t i = 0; i < 4; ++i) {
    snapshot.runs.push_back(used_at(60, 0));
    snapshot.runs.back().run = i;
  }
  snapshot.runs[1].idle = false;
  snapshot.runs[2].clean = 2_MiB;
  snapshot.runs[3].dead = true;
  EXPECT_EQ(RecencyPolicy().decide(snapshot).victims, (std::vector<std::size_t>{3, 2, 0, 1}));
}

// Repeatedly scans `runs` runs on a device with room for `room`. Returns the hits of the last round.
int hits_of_cyclic_scan(const Policy& policy, std::size_t runs, std::size_t room) {
  std::vector<RunPicture> past(runs);
  std::set<std::size_t> present;
  Epoch epoch;
  int hits = 0;
  for (int round = 0; round < 6; ++round) {
    hits = 0;
    for (std::size_t i = 0; i < runs; ++i) {
      hits += present.contains(i);
      if (!present.contains(i) && present.size() == room) {
        Snapshot snapshot;
        snapshot.epoch = epoch;
        snapshot.need = 2_MiB;
        for (std::size_t other : present) snapshot.runs.push_back(past[other]);
        present.erase(policy.decide(snapshot).victims.at(0));
      }
      present.insert(i);
      ++epoch;
      past[i].run = i;
      past[i].bytes = 2_MiB;
      past[i].gap = past[i].used.is_never() ? 0 : epoch - past[i].used;
      past[i].used = epoch;
    }
  }
  return hits;
}

TEST(RecencyPolicy, ACyclicScanKeepsAPartWhereLruMissesEveryTime) {
  EXPECT_EQ(hits_of_cyclic_scan(LruPolicy(), 15, 10), 0);
  // Belady keeps 9 of 10 places while one streams: 9 hits of 15 at best.
  EXPECT_GE(hits_of_cyclic_scan(RecencyPolicy(), 15, 10), 8);
}

}  // namespace
}  // namespace tessera
