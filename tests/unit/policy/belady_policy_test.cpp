#include "policy/belady_policy.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Snapshot snapshot_of(std::initializer_list<std::uint64_t> nexts) {
  Snapshot snapshot;
  snapshot.epoch = Epoch(100);
  snapshot.need = 100_MiB;
  for (const std::uint64_t next : nexts) {
    RunPicture run;
    run.run = snapshot.runs.size();
    run.bytes = 2_MiB;
    run.used = Epoch(90);
    run.next = Epoch(next);
    snapshot.runs.push_back(run);
  }
  return snapshot;
}

TEST(BeladyPolicy, EvictsTheFarthestUseFirst) {
  EXPECT_EQ(BeladyPolicy().decide(snapshot_of({110, 190, 101, 150})).victims, (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(BeladyPolicy, EstimatesUnknownUsesFromThePast) {
  Snapshot snapshot = snapshot_of({105, 0, 150});
  snapshot.runs[1].gap = 40;  // used at 90, so due at 130
  EXPECT_EQ(BeladyPolicy().decide(snapshot).victims, (std::vector<std::size_t>{2, 1, 0}));
}

TEST(BeladyPolicy, IgnoresAPredictionThatFailed) {
  Snapshot snapshot = snapshot_of({105, 99});
  snapshot.runs[1].gap = 40;
  EXPECT_EQ(BeladyPolicy().decide(snapshot).victims.front(), 1u);
}

}  // namespace
}  // namespace tessera
