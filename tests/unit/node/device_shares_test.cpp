#include "node/device_shares.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tessera {
namespace {

constexpr Nanoseconds kSlice{2000};

DeviceClaimant user(Bytes held, Bytes wanted, Nanoseconds turn = {}) {
  return {.held = held, .wanted = wanted, .active = true, .turn = turn, .slice = kSlice};
}
DeviceClaimant idle(Bytes held) { return {.held = held, .wanted = held}; }

TEST(DeviceSharesTest, IdleProgramsYieldFirst) {
  const std::vector<DeviceClaimant> claimants = {idle(900_MiB), user(Bytes(), 300_MiB)};
  const DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_FALSE(shares.contended);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 700_MiB);
  EXPECT_EQ(shares.ceiling(1000_MiB, 1), 300_MiB) << "the rest stays with the idle one";
  EXPECT_EQ(shares.owed(1000_MiB, claimants, 1), 200_MiB);
  EXPECT_EQ(shares.owed(1000_MiB, claimants, 0), Bytes());
}

TEST(DeviceSharesTest, ProgramsThatAreNotShortHaveWhatTheyWantAndMayGrow) {
  const std::vector<DeviceClaimant> claimants = {user(300_MiB, 300_MiB), user(100_MiB, 200_MiB)};
  const DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_FALSE(shares.contended);
  EXPECT_FALSE(shares.holder);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 800_MiB);
  EXPECT_EQ(shares.ceiling(1000_MiB, 1), 700_MiB);
}

TEST(DeviceSharesTest, WithoutSlicesSharesAreFair) {
  std::vector<DeviceClaimant> claimants = {user(800_MiB, 800_MiB), user(Bytes(), 800_MiB), idle(100_MiB)};
  claimants[1].weight = 3;
  const DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kNone);
  EXPECT_TRUE(shares.contended);
  EXPECT_FALSE(shares.holder);
  EXPECT_EQ(shares.shares[0], 250_MiB);
  EXPECT_EQ(shares.shares[1], 750_MiB);
  EXPECT_EQ(shares.shares[2], Bytes());
}

TEST(DeviceSharesTest, OneAtATimeHasADeviceThatIsTooSmallForAll) {
  std::vector<DeviceClaimant> claimants = {user(800_MiB, 800_MiB, Nanoseconds(100)), user(Bytes(), 700_MiB)};
  claimants[1].waits = true;
  DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_EQ(shares.holder, 0U);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 800_MiB);
  EXPECT_EQ(shares.ceiling(1000_MiB, 1), 200_MiB);
  EXPECT_FALSE(may_begin_turn(shares, claimants, 1, Nanoseconds(2099)));
  EXPECT_TRUE(may_begin_turn(shares, claimants, 1, Nanoseconds(2100)));
  EXPECT_FALSE(may_begin_turn(shares, claimants, 0, Nanoseconds(2100))) << "it has it";
  claimants[1].turn = Nanoseconds(2100);
  shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_EQ(shares.holder, 1U);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 300_MiB);
  EXPECT_EQ(shares.owed(1000_MiB, claimants, 1), 500_MiB);
}

// A program that grows would otherwise wait for the others with each block.
TEST(DeviceSharesTest, TheHolderMayBeAheadOfWhatItWants) {
  std::vector<DeviceClaimant> claimants = {user(600_MiB, 600_MiB, Nanoseconds(100)), user(400_MiB, 700_MiB)};
  claimants[0].ahead = claimants[1].ahead = 100_MiB;
  DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_EQ(shares.holder, 0U);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 700_MiB);
  EXPECT_EQ(shares.ceiling(1000_MiB, 1), 300_MiB) << "what is ahead is for the turn";
  claimants[0].ahead = 500_MiB;
  EXPECT_EQ(device_shares(1000_MiB, claimants, Turns::kOneAtATime).ceiling(1000_MiB, 0), 1000_MiB);
  claimants[1].wanted = 400_MiB;
  shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_FALSE(shares.contended) << "what they want fits";
  EXPECT_FALSE(shares.holder);
}

TEST(DeviceSharesTest, TheNextTurnIsThatOfTheOneWithTheEarliestLast) {
  std::vector<DeviceClaimant> claimants = {user(Bytes(), 800_MiB, Nanoseconds(200)),
                                           user(Bytes(), 800_MiB, Nanoseconds(100)), user(Bytes(), 800_MiB)};
  const auto may = [&](std::size_t index) {
    return may_begin_turn(device_shares(1000_MiB, claimants, Turns::kOneAtATime), claimants, index, Nanoseconds(5000));
  };
  claimants[1].waits = claimants[2].waits = true;
  EXPECT_FALSE(may(1));
  EXPECT_TRUE(may(2));
  claimants[2].waits = false;
  EXPECT_TRUE(may(1)) << "one that does not wait keeps no other waiting";
}

TEST(DeviceSharesTest, AnIdleHolderHasNoTurn) {
  std::vector<DeviceClaimant> claimants = {user(800_MiB, 800_MiB, Nanoseconds(100)), user(Bytes(), 700_MiB)};
  claimants[0].active = false;
  const DeviceShares shares = device_shares(1000_MiB, claimants, Turns::kOneAtATime);
  EXPECT_FALSE(shares.contended);
  EXPECT_EQ(shares.ceiling(1000_MiB, 0), 300_MiB);
}

TEST(DeviceSharesTest, RowsSayWhichProgramsAreActiveAndWait) {
  constexpr Nanoseconds kNow{10'000'000'000};
  LedgerRow row;
  row.weight = 2;
  row.of(NodeResource::kDevice) = {5, 7};
  EXPECT_FALSE(DeviceClaimant::of(row, kNow).active);
  row.active_ns = 9'500'000'000;
  EXPECT_TRUE(DeviceClaimant::of(row, kNow).active);
  EXPECT_FALSE(DeviceClaimant::of(row, kNow + kDeviceIdleAfter).active);
  EXPECT_FALSE(DeviceClaimant::of(row, kNow).waits);
  row.waits_ns = 11'000'000'000;  // from another processor's clock, a little ahead
  EXPECT_TRUE(DeviceClaimant::of(row, kNow).waits);
  EXPECT_EQ(DeviceClaimant::of(row, kNow).wanted, Bytes(7));
  EXPECT_EQ(DeviceClaimant::of(row, kNow).ahead, Bytes());
  row.ahead = 3;
  EXPECT_EQ(DeviceClaimant::of(row, kNow).ahead, Bytes(3));
}

// It would have the device for ever.
TEST(DeviceSharesTest, ARowFromTheFutureHasNoAdvantage) {
  const Nanoseconds now{10 * kDeviceIdleAfter.value()};
  LedgerRow row;
  row.of(NodeResource::kDevice) = {10, 100};
  row.weight = 1;
  row.active_ns = row.waits_ns = row.turn_ns = row.slice_ns = ~std::uint64_t{0};
  const DeviceClaimant hostile = DeviceClaimant::of(row, now);
  EXPECT_FALSE(hostile.active);
  EXPECT_FALSE(hostile.waits);
  row.active_ns = now.value();
  std::vector<DeviceClaimant> claimants{DeviceClaimant::of(row, now),
                                        {.held = {}, .wanted = Bytes(100), .active = true, .waits = true}};
  const DeviceShares shares = device_shares(Bytes(100), claimants, Turns::kOneAtATime);
  EXPECT_EQ(shares.holder, 0U) << "its turn has begun now";
  EXPECT_FALSE(may_begin_turn(shares, claimants, 1, now));
  const Nanoseconds later = now + Nanoseconds(60'000'000'000);
  EXPECT_TRUE(may_begin_turn(shares, claimants, 1, later)) << "and ends";
}

TEST(DeviceSharesTest, TogetherTheyNeverExceedTheDevice) {
  std::mt19937_64 random(36);
  for (int round = 0; round < 2000; ++round) {
    std::vector<DeviceClaimant> claimants(1 + random() % 6);
    for (DeviceClaimant& claimant : claimants) {
      claimant = {Bytes(random() % 2000),
                  Bytes(random() % 2000),
                  1 + static_cast<std::uint32_t>(random() % 9),
                  random() % 2 == 0,
                  random() % 2 == 0,
                  Nanoseconds(random() % 5),
                  kSlice,
                  Bytes(random() % 500)};
    }
    const Bytes budget(random() % 3000);
    const DeviceShares shares = device_shares(budget, claimants, random() % 2 == 0 ? Turns::kNone : Turns::kOneAtATime);
    const Bytes sum = std::accumulate(shares.shares.begin(), shares.shares.end(), Bytes());
    EXPECT_LE(sum, budget);
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      EXPECT_LE(shares.shares[i], claimants[i].wanted + (shares.holder == i ? claimants[i].ahead : Bytes()));
      EXPECT_GE(shares.ceiling(budget, i), shares.shares[i]);
    }
  }
}

}  // namespace
}  // namespace tessera
