#include "policy/belady_policy.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Snapshot snapshot_of(std::initializer_list<std::uint64_t> nexts) {
  Snapshot snapshot;
  snapshot.epoch = 100;
  snapshot.need = 100_MiB;
  for (const std::uint64_t next : nexts) {
    RunPicture run;
    run.run = snapshot.runs.size();
    run.bytes = 2_MiB;
    run.used = 90;
    run.next = next;
    snapshot.runs.push_back(run);
  }
  return snapshot;
}

TEST(BeladyPolicy, SendsAwayFirstWhatIsUsedLast) {
  EXPECT_EQ(BeladyPolicy().decide(snapshot_of({110, 190, 101, 150})).leave,
            (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(BeladyPolicy, TakesTheUnknownForWhatNeverComesBack) {
  EXPECT_EQ(BeladyPolicy().decide(snapshot_of({110, 0, 101})).leave.front(), 1u);
}

TEST(BeladyPolicy, TakesAPredictionThatDidNotComeTrueForUnknown) {
  EXPECT_EQ(BeladyPolicy().decide(snapshot_of({110, 99, 101})).leave.front(), 1u);
}

TEST(BeladyPolicy, OfUnknownsSendsAwayTheLeastRecentlyUsed) {
  Snapshot snapshot = snapshot_of({0, 0});
  snapshot.runs[1].used = 50;
  EXPECT_EQ(BeladyPolicy().decide(snapshot).leave, (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace tessera
