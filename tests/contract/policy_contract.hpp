// One suite for every policy: the guarantees of policy/policy.hpp, on random snapshots.
//
// Instantiate it with INSTANTIATE_TYPED_TEST_SUITE_P(Name, PolicyContract, YourPolicy); the policy is
// default-constructed.
//
// Thread safety: a test suite.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "policy/policy.hpp"

namespace tessera::contract {

inline Snapshot random_snapshot(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  Snapshot snapshot;
  snapshot.shortage = below(2) == 0 ? Location::kDevice : Location::kHost;
  snapshot.epoch = Epoch(1 + below(1000));
  Bytes all;
  for (std::size_t i = below(40); i > 0; --i) {
    RunPicture run;
    run.run = i * 3;  // run numbers are not positions in the list
    run.bytes = 2_MiB * (1 + below(20));
    run.clean = 2_MiB * below(run.bytes / 2_MiB + 1);
    run.used = Epoch(below(snapshot.epoch.value() + 1));
    run.gap = below(2) == 0 ? 0 : below(200);
    run.idle = below(2) == 0;
    run.dead = below(5) == 0;
    all += run.bytes;
    snapshot.runs.push_back(run);
  }
  snapshot.need = Bytes(below(all.value() * 5 / 4 + 1));
  return snapshot;
}

template <class P>
class PolicyContract : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSnapshots = 300;

  // Calls visit(snapshot, decision, pictures by run) for many snapshots.
  template <class Visit>
  void for_many(Visit visit) {
    for (std::uint64_t seed = 0; seed < kSnapshots; ++seed) {
      SCOPED_TRACE(::testing::Message() << "snapshot " << seed);
      const Snapshot snapshot = random_snapshot(seed);
      std::map<std::size_t, RunPicture> pictures;
      for (const RunPicture& run : snapshot.runs) pictures[run.run] = run;
      visit(snapshot, policy_.decide(snapshot), pictures);
      if (::testing::Test::HasFailure()) return;
    }
  }

  P policy_;
};

TYPED_TEST_SUITE_P(PolicyContract);

TYPED_TEST_P(PolicyContract, HasARegisteredName) {
  const auto made = make_policy(this->policy_.name());
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  EXPECT_EQ(made.value()->name(), this->policy_.name());
}

TYPED_TEST_P(PolicyContract, NamesOnlyRunsOfTheSnapshotAndNoneTwice) {
  this->for_many([](const Snapshot&, const Decision& decision, const auto& pictures) {
    std::set<std::size_t> seen;
    for (std::size_t run : decision.victims) {
      EXPECT_TRUE(pictures.count(run) != 0) << run;
      EXPECT_TRUE(seen.insert(run).second) << run;
    }
  });
}

TYPED_TEST_P(PolicyContract, CoversTheNeedAndNoMore) {
  this->for_many([](const Snapshot& snapshot, const Decision& decision, const auto& pictures) {
    Bytes leaving;
    for (std::size_t run : decision.victims) {
      EXPECT_LT(leaving, snapshot.need) << "more than is needed";
      leaving += pictures.at(run).bytes;
    }
    if (leaving < snapshot.need) {
      EXPECT_EQ(decision.victims.size(), snapshot.runs.size());
    }
  });
}

TYPED_TEST_P(PolicyContract, EvictsDeadRunsFirst) {
  this->for_many([](const Snapshot&, const Decision& decision, const auto& pictures) {
    const auto is_dead = [&](std::size_t run) { return pictures.at(run).dead; };
    EXPECT_TRUE(std::is_partitioned(decision.victims.begin(), decision.victims.end(), is_dead));
    const auto all =
        std::count_if(pictures.begin(), pictures.end(), [](const auto& entry) { return entry.second.dead; });
    const auto gone = std::count_if(decision.victims.begin(), decision.victims.end(), is_dead);
    if (static_cast<std::size_t>(gone) < decision.victims.size()) {
      EXPECT_EQ(gone, all) << "a live run leaves before a dead one";
    }
  });
}

TYPED_TEST_P(PolicyContract, IsDeterministicInAnyOrderOfCalls) {
  this->for_many([this](const Snapshot& snapshot, const Decision& decision, const auto&) {
    EXPECT_EQ(this->policy_.decide(snapshot).victims, decision.victims);
    Snapshot turned = snapshot;
    std::reverse(turned.runs.begin(), turned.runs.end());
    EXPECT_EQ(this->policy_.decide(turned).victims, decision.victims);
  });
}

TYPED_TEST_P(PolicyContract, EvictsNothingWithoutNeed) {
  Snapshot snapshot = random_snapshot(1);
  snapshot.need = Bytes();
  EXPECT_TRUE(this->policy_.decide(snapshot).victims.empty());
  EXPECT_TRUE(this->policy_.decide(Snapshot()).victims.empty());
}

REGISTER_TYPED_TEST_SUITE_P(PolicyContract, HasARegisteredName, NamesOnlyRunsOfTheSnapshotAndNoneTwice,
                            CoversTheNeedAndNoMore, EvictsDeadRunsFirst, IsDeterministicInAnyOrderOfCalls,
                            EvictsNothingWithoutNeed);

}  // namespace tessera::contract
