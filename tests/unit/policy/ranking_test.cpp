#include "policy/ranking.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

RunPicture run(std::size_t name, bool dead = false) {
  RunPicture picture;
  picture.run = name;
  picture.bytes = 2_MiB;
  picture.dead = dead;
  return picture;
}

TEST(Ranking, EvictsTheHighestScoreFirstAndNoMoreThanNeeded) {
  const RunPicture runs[] = {run(0), run(1), run(2), run(3)};
  const std::vector<RankedRun> ranked = {{&runs[0], 1}, {&runs[1], 4}, {&runs[2], 3}, {&runs[3], 2}};
  EXPECT_EQ(highest_first(ranked, 3_MiB).victims, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(highest_first(ranked, 1_GiB).victims, (std::vector<std::size_t>{1, 2, 3, 0}));
  EXPECT_TRUE(highest_first(ranked, 0_B).victims.empty());
  EXPECT_TRUE(highest_first({}, 1_GiB).victims.empty());
}

TEST(Ranking, EvictsDeadRunsFirst) {
  const RunPicture runs[] = {run(0), run(1, true), run(2, true)};
  const std::vector<RankedRun> ranked = {{&runs[0], 9}, {&runs[1], 1}, {&runs[2], 2}};
  EXPECT_EQ(highest_first(ranked, 6_MiB).victims, (std::vector<std::size_t>{2, 1, 0}));
}

// Their scores refer to a next use, which dead runs do not have; their last use has to be waited for.
TEST(Ranking, EvictsTheLeastRecentlyUsedDeadRunsFirst) {
  RunPicture runs[] = {run(0, true), run(1, true), run(2, true)};
  for (RunPicture& each : runs) each.used = Epoch(30 - 10 * each.run);
  const std::vector<RankedRun> ranked = {{&runs[0], 9}, {&runs[1], 1}, {&runs[2], 2}};
  EXPECT_EQ(highest_first(ranked, 6_MiB).victims, (std::vector<std::size_t>{2, 1, 0}));
}

TEST(Ranking, EvictsEqualsInNameOrder) {
  const RunPicture runs[] = {run(5), run(3), run(4)};
  const std::vector<RankedRun> ranked = {{&runs[0], 1}, {&runs[1], 1}, {&runs[2], 1}};
  EXPECT_EQ(highest_first(ranked, 6_MiB).victims, (std::vector<std::size_t>{3, 4, 5}));
}

}  // namespace
}  // namespace tessera
