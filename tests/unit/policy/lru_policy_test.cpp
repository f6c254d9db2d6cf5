#include "policy/lru_policy.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

RunPicture run(std::size_t name, std::uint64_t used, bool dead = false) {
  RunPicture picture;
  picture.run = name;
  picture.bytes = 2_MiB;
  picture.used = Epoch(used);
  picture.dead = dead;
  return picture;
}

std::vector<std::size_t> order(std::vector<RunPicture> runs, Bytes need) {
  Snapshot snapshot;
  snapshot.need = need;
  snapshot.epoch = Epoch(100);
  snapshot.runs = std::move(runs);
  return LruPolicy().decide(snapshot).victims;
}

using Names = std::vector<std::size_t>;

TEST(LruPolicy, EvictsTheOldestUseFirst) {
  EXPECT_EQ(order({run(1, 30), run(2, 10), run(3, 20)}, 6_MiB), (Names{2, 3, 1}));
}

TEST(LruPolicy, EvictsDeadRunsFirst) { EXPECT_EQ(order({run(1, 10), run(2, 90, true)}, 4_MiB), (Names{2, 1})); }

TEST(LruPolicy, NamesNoMoreThanIsNeeded) {
  EXPECT_EQ(order({run(1, 30), run(2, 10), run(3, 20)}, 3_MiB), (Names{2, 3}));
  EXPECT_EQ(order({run(1, 30)}, Bytes(0)), Names{});
}

TEST(LruPolicy, EvictsEqualRunsInNameOrder) {
  EXPECT_EQ(order({run(3, 7), run(1, 7), run(2, 7)}, 6_MiB), (Names{1, 2, 3}));
}

}  // namespace
}  // namespace tessera
