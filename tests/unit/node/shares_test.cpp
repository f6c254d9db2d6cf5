#include "node/shares.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera {
namespace {

using Claimants = std::vector<Claimant>;

Bytes sum(const std::vector<Bytes>& all) {
  Bytes total;
  for (const Bytes bytes : all) total += bytes;
  return total;
}

Bytes demand(const Claimant& claimant) { return std::max(claimant.held, claimant.wanted); }

// Random claimants, of which some hold what they want, some more, and some nothing.
Claimants random_claimants(std::mt19937_64& random, Bytes budget) {
  Claimants claimants(1 + random() % 20);
  for (Claimant& claimant : claimants) {
    claimant.held = random() % 3 == 0 ? Bytes() : Bytes(random() % (budget.value() + 1));
    claimant.wanted = random() % 3 == 0 ? Bytes() : Bytes(random() % (2 * budget.value() + 1));
    claimant.job = random() % 2 == 0 ? 0 : 1 + random() % 3;
    claimant.weight = random() % 4 == 0 ? 1 : static_cast<std::uint32_t>(1 + random() % 10'000);
  }
  return claimants;
}

TEST(Shares, ALoneProgramGetsAllThatItWants) {
  EXPECT_EQ(fair_shares(8_GiB, Claimants{{.wanted = 20_GiB}}), std::vector{8_GiB});
  EXPECT_EQ(fair_shares(8_GiB, Claimants{{.wanted = 3_GiB}}), std::vector{3_GiB});
  EXPECT_TRUE(fair_shares(8_GiB, Claimants{}).empty());
}

TEST(Shares, EqualProgramsThatWantAllGetEqualParts) {
  EXPECT_EQ(fair_shares(8_GiB, Claimants(8, {.wanted = 8_GiB})), std::vector(8, 1_GiB));
}

TEST(Shares, WeightsAreRatios) {
  const Claimants claimants{{.wanted = 8_GiB, .weight = 3}, {.wanted = 8_GiB, .weight = 1}};
  EXPECT_EQ(fair_shares(8_GiB, claimants), (std::vector{6_GiB, 2_GiB}));
}

TEST(Shares, AJobCountsAsOneProgram) {
  Claimants claimants(9, {.wanted = 8_GiB, .job = 7});
  claimants.back().job = 0;
  std::vector<Bytes> expected(9, 512_MiB);
  expected.back() = 4_GiB;
  EXPECT_EQ(fair_shares(8_GiB, claimants), expected);
  claimants.back().wanted = 1_GiB;
  EXPECT_EQ(fair_shares(9_GiB, claimants), std::vector(9, 1_GiB)) << "the job has what the other leaves";
  claimants.back() = {.wanted = 9_GiB, .job = 8};
  for (std::size_t i = 1; i < 8; ++i) claimants[i].wanted = Bytes();
  EXPECT_EQ(fair_shares(9_GiB, claimants).front(), 4_GiB + 512_MiB) << "one rank has all of its job's share";
}

TEST(Shares, AJobHasTheGreatestWeightOfItsPrograms) {
  const Claimants claimants{{.wanted = 8_GiB, .weight = 3, .job = 5},
                            {.wanted = 8_GiB, .weight = 1, .job = 5},
                            {.wanted = 8_GiB, .weight = 1}};
  EXPECT_EQ(fair_shares(8_GiB, claimants), (std::vector{4_GiB + 512_MiB, 1_GiB + 512_MiB, 2_GiB}));
}

// Among jobs, shares are those of programs that want what their jobs do.
TEST(Shares, SharesOfRandomJobsAreFair) {
  std::mt19937_64 random(38);
  for (int round = 0; round < 2'000; ++round) {
    const Bytes budget(random() % 1'000'000'000'000);
    const Claimants claimants = random_claimants(random, budget);
    const std::vector<Bytes> shares = fair_shares(budget, claimants);
    std::map<std::uint64_t, Claimant> jobs;
    std::map<std::uint64_t, Bytes> of_jobs;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      const std::uint64_t job = claimants[i].job != 0 ? claimants[i].job : 1000 + i;
      Claimant& together = jobs[job];
      together.wanted += demand(claimants[i]);
      together.weight = std::max(together.weight, claimants[i].weight);
      of_jobs[job] += shares[i];
    }
    Claimants alone;
    for (const auto& [job, together] : jobs) alone.push_back(together);
    const std::vector<Bytes> expected = fair_shares(budget, alone);
    auto found = of_jobs.begin();
    for (const Bytes share : expected) ASSERT_LE((found++)->second, share + Bytes(claimants.size())) << round;
  }
}

TEST(Shares, WhatOneDoesNotWantIsLent) {
  const Claimants claimants{{.wanted = 1_GiB}, {.wanted = 9_GiB}, {.wanted = 9_GiB}};
  EXPECT_EQ(fair_shares(9_GiB, claimants), (std::vector{1_GiB, 4_GiB, 4_GiB}));
}

TEST(Shares, WhatIsLentComesBackWhenItIsWanted) {
  Claimants claimants{{}, {.held = 8_GiB, .wanted = 8_GiB}};
  EXPECT_EQ(entitlement(8_GiB, claimants, 1).surplus, Bytes());
  claimants[0].wanted = 8_GiB;
  const Entitlement lender = entitlement(8_GiB, claimants, 0), borrower = entitlement(8_GiB, claimants, 1);
  EXPECT_EQ(lender.share, 4_GiB);
  EXPECT_EQ(lender.may_take(Bytes()), Bytes()) << "nothing is free yet";
  EXPECT_EQ(borrower.surplus, 4_GiB);
  EXPECT_EQ(borrower.may_take(8_GiB), Bytes());
  claimants[1].held = claimants[1].wanted = 4_GiB;
  EXPECT_EQ(entitlement(8_GiB, claimants, 0).may_take(Bytes()), 4_GiB);
}

TEST(Shares, HugeAmountsDoNotOverflow) {
  const Bytes huge(std::uint64_t{1} << 56);
  const Claimants claimants(128, {.held = huge, .wanted = huge, .weight = 10'000});
  EXPECT_EQ(sum(fair_shares(huge, claimants)), huge);
  EXPECT_EQ(entitlement(huge, claimants, 7).free, Bytes());
}

TEST(Shares, PropertiesOfRandomClaimants) {
  std::mt19937_64 random(36);
  for (int round = 0; round < 20'000; ++round) {
    const Bytes budget(random() % (round % 2 == 0 ? 100 : 1'000'000'000'000));
    const Claimants claimants = random_claimants(random, budget);
    const std::vector<Bytes> shares = fair_shares(budget, claimants);
    Bytes wanted, held;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      wanted += demand(claimants[i]);
      held += claimants[i].held;
      ASSERT_LE(shares[i], demand(claimants[i]));
    }
    ASSERT_LE(sum(shares), budget);
    // Nothing is kept from those that want it, but for what rounding loses.
    ASSERT_GE(sum(shares) + Bytes(claimants.size()), std::min(budget, wanted));
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      for (std::size_t j = 0; j < claimants.size(); ++j) {
        if (shares[i] == demand(claimants[i])) continue;
        // One that does not get what it wants has at least as much for its weight as any other of its job.
        if (i != j && (claimants[i].job == 0 || claimants[i].job != claimants[j].job)) continue;
        ASSERT_GE((static_cast<double>(shares[i].value()) + 2) / claimants[i].weight * (1 + 1e-9),
                  (static_cast<double>(shares[j].value()) - 20) / claimants[j].weight)
            << round << ": " << i << " against " << j;
      }
      const Entitlement own = entitlement(budget, claimants, i);
      ASSERT_EQ(own.share, shares[i]);
      ASSERT_LE(held + own.may_take(claimants[i].held), std::max(budget, held));
      ASSERT_EQ(own.surplus + std::min(claimants[i].held, shares[i]), claimants[i].held);
    }
  }
}

// Programs take and give back at random, each as its entitlement says. At no time do they hold more than the budget
// together, and whoever wants its share gets it once the others have given back their surplus.
TEST(Shares, ARandomSequenceNeverExceedsTheBudget) {
  std::mt19937_64 random(37);
  const Bytes budget(1000);
  Claimants claimants(6);
  for (Claimant& claimant : claimants) claimant.weight = static_cast<std::uint32_t>(1 + random() % 4);
  for (int step = 0; step < 50'000; ++step) {
    const std::size_t i = random() % claimants.size();
    Claimant& claimant = claimants[i];
    const Entitlement now = entitlement(budget, claimants, i);
    switch (random() % 4) {
      case 0: claimant.wanted = Bytes(random() % 1500); break;
      case 1: claimant.held += now.may_take(claimant.held); break;
      case 2: claimant.held -= now.surplus; break;
      default: claimant.held -= Bytes(random() % (claimant.held.value() + 1));
    }
    Bytes held;
    for (const Claimant& each : claimants) held += each.held;
    ASSERT_LE(held, budget);
  }
  for (Claimant& claimant : claimants) claimant.wanted = budget;
  for (std::size_t i = 0; i < claimants.size(); ++i) claimants[i].held -= entitlement(budget, claimants, i).surplus;
  const std::vector<Bytes> shares = fair_shares(budget, claimants);
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    claimants[i].held += entitlement(budget, claimants, i).may_take(claimants[i].held);
    EXPECT_EQ(claimants[i].held, shares[i]);
  }
}

}  // namespace
}  // namespace tessera
