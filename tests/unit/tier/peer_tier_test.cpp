#include "tier/peer_tier.hpp"

#include <gtest/gtest.h>

#include "driver/native_codes.hpp"
#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr DeviceId kBorrower{0}, kNear{1}, kFar{2};

class PeerTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  SimDriver& sim() { return machine_.driver(); }
  static std::uint64_t bit(DeviceId device) { return std::uint64_t{1} << device.value(); }
  Bytes free_on(DeviceId device) { return sim().memory_info(device).value().free; }
  // Over the link and back, copied by `device`.
  int byte_by_way_of(const Frame& frame, DeviceId device, std::uint8_t value) {
    const StreamId stream = sim().create_stream(device).take();
    unsigned char there = value, back = 0;
    Status copied = sim().copy_in(PeerTier::alias_of(frame), &there, Bytes(1), stream);
    if (copied.is_ok()) copied = sim().copy_out(&back, PeerTier::alias_of(frame), Bytes(1), stream);
    if (copied.is_ok()) copied = sim().synchronize(stream);
    EXPECT_TRUE(sim().destroy_stream(stream).is_ok());
    return copied.is_ok() ? back : -1;
  }

  SimMachine machine_{SimOptions{.devices = 3, .memory = 16_MiB}};
};

TEST_F(PeerTierTest, AFrameIsMemoryOfTheLenderThatTheBorrowerReaches) {
  PeerTier tier(sim(), {{kNear, 8_MiB}});
  ASSERT_TRUE(tier.try_admit(kBorrower).is_ok());
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(frame.tier, Location::kPeer);
  EXPECT_EQ(free_on(kNear), 14_MiB);
  EXPECT_EQ(free_on(kBorrower), 16_MiB);
  EXPECT_EQ(sim().mapping_at(PeerTier::alias_of(frame))->access, bit(kNear) | bit(kBorrower)) << "and no other";
  EXPECT_EQ(byte_by_way_of(frame, kBorrower, 7), 7);
  tier.give_back(frame);
}

TEST_F(PeerTierTest, TheLenderThatHasLentLeastGivesTheNextFrame) {
  PeerTier tier(sim(), {{kNear, 8_MiB}, {kFar, 4_MiB}});
  EXPECT_EQ(tier.lender_count(), 2U);
  EXPECT_EQ(tier.usage().capacity, 12_MiB);
  std::vector<Frame> frames;
  const auto take = [&] { frames.push_back(tier.take(PageClass::kBase).value()); };
  for (int i = 0; i < 4; ++i) take();
  EXPECT_EQ(free_on(kNear), 12_MiB) << "in turn";
  EXPECT_EQ(free_on(kFar), 12_MiB);
  take(), take();
  EXPECT_EQ(free_on(kNear), 8_MiB) << "the other one has lent all";
  std::vector<std::size_t> lenders;
  for (const Frame& frame : frames) lenders.push_back(tier.lender_of(frame));
  EXPECT_EQ(lenders, (std::vector<std::size_t>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.validate().to_string(), "ok");
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(PeerTierTest, ALenderWithTooLittleMemoryIsSkipped) {
  PeerTier tier(sim(), {{kNear, 32_MiB}, {kFar, 8_MiB}});
  std::vector<Frame> frames;
  while (frames.size() < 12) frames.push_back(tier.take(PageClass::kBase).value());
  EXPECT_EQ(free_on(kNear), Bytes()) << "16 MiB are all it has";
  EXPECT_EQ(free_on(kFar), 8_MiB);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(PeerTierTest, ALoanIsNoMoreThanTheLenderHasFree) {
  PeerTier tier(sim(), {{kNear, 32_MiB}, {kFar, 8_MiB}});
  const FrameId own = sim().create_frame(kNear, FrameLocation::kDevice, 4_MiB).take();
  tier.settle(kNear);
  EXPECT_EQ(tier.to_come_from(kNear), 12_MiB);
  EXPECT_EQ(tier.usage().capacity, 20_MiB);
  ASSERT_TRUE(sim().destroy_frame(own).is_ok());
  ASSERT_TRUE(tier.try_admit(kBorrower).is_ok());
  EXPECT_EQ(tier.usage().capacity, 20_MiB) << "once for each lender";
  tier.settle(kBorrower);
  EXPECT_EQ(tier.usage().capacity, 20_MiB) << "who lends nothing";
}

TEST_F(PeerTierTest, AnEmptyLenderAdmitsNoBorrower) {
  const FrameId own = sim().create_frame(kNear, FrameLocation::kDevice, 16_MiB).take();
  PeerTier tier(sim(), {{kNear, 8_MiB}});
  EXPECT_EQ(tier.try_admit(kBorrower).code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().capacity, Bytes());
  PeerTier with_another(sim(), {{kNear, 8_MiB}, {kFar, 8_MiB}});
  EXPECT_TRUE(with_another.try_admit(kBorrower).is_ok());
  EXPECT_TRUE(sim().destroy_frame(own).is_ok());
}

TEST_F(PeerTierTest, ARefusingLenderIsNotRetriedBeforeAFrameIsReturned) {
  FaultDriver driver(sim());
  PeerTier tier(driver, {{kNear, 16_MiB}});
  ASSERT_TRUE(tier.try_admit(kBorrower).is_ok());
  const FrameId own = sim().create_frame(kNear, FrameLocation::kDevice, 12_MiB).take();
  const Frame first = tier.take(PageClass::kBase).value(), second = tier.take(PageClass::kBase).value();
  EXPECT_EQ(tier.reach(), 16_MiB);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.reach(), 4_MiB);
  const std::uint64_t asked = driver.calls(DriverCall::kCreateFrame);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(driver.calls(DriverCall::kCreateFrame), asked);
  tier.give_back(second);
  tier.trim();
  EXPECT_TRUE(sim().destroy_frame(own).is_ok());
  std::vector<Frame> frames = {first};
  while (frames.size() < 8) frames.push_back(tier.take(PageClass::kBase).value());
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(PeerTierTest, TheRemainingLoanShrinksByTakenFrames) {
  PeerTier tier(sim(), {{kNear, 8_MiB}});
  EXPECT_TRUE(tier.lends(kNear));
  EXPECT_FALSE(tier.lends(kFar));
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(tier.to_come_from(kNear), 6_MiB);
  EXPECT_EQ(tier.to_come_from(kFar), Bytes());
  tier.give_back(frame);
  EXPECT_EQ(tier.to_come_from(kNear), 6_MiB) << "it is kept as a spare frame";
  tier.trim();
  EXPECT_EQ(tier.to_come_from(kNear), 8_MiB);
  EXPECT_EQ(free_on(kNear), 16_MiB);
}

TEST_F(PeerTierTest, ABorrowerIsAdmittedWhenAllIsLent) {
  PeerTier tier(sim(), {{kNear, 2_MiB}});
  ASSERT_TRUE(tier.try_admit(kBorrower).is_ok());
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_TRUE(tier.try_admit(kFar).is_ok());
  EXPECT_EQ(byte_by_way_of(frame, kFar, 7), 7);
  tier.give_back(frame);
}

TEST_F(PeerTierTest, ABorrowerThatCannotReachTheLenderIsRefused) {
  FaultDriver driver(sim());
  PeerTier tier(driver, {{kNear, 8_MiB}});
  driver.fail({DriverCall::kSetAccess, 2, Status(Code::kDriver, "no link", 217)});
  EXPECT_EQ(tier.try_admit(kBorrower).native_code(), 217);
  EXPECT_EQ(tier.usage().used, Bytes());
  ASSERT_TRUE(tier.try_admit(kFar).is_ok()) << "a refused borrower does not block another";
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(sim().mapping_at(PeerTier::alias_of(frame))->access, bit(kNear) | bit(kFar));
  tier.give_back(frame);
  PeerTier missing(driver, {{DeviceId(9), 8_MiB}});
  EXPECT_FALSE(missing.try_admit(kBorrower).is_ok()) << "there is no such device";
}

TEST_F(PeerTierTest, ABorrowerThatReachesOneLenderOfTwoIsRefusedWithItsName) {
  SimMachine machine({.devices = 3, .memory = 16_MiB, .apart = {{0, 2}}});
  PeerTier tier(machine.driver(), {{kNear, 8_MiB}, {kFar, 8_MiB}});
  const Status refused = tier.try_admit(kBorrower);
  EXPECT_EQ(refused.native_code(), native::kInvalidDevice);
  EXPECT_NE(refused.message().find("memory of device 2"), std::string::npos) << refused.message();
  machine.finish();
}

TEST_F(PeerTierTest, ABorrowerWhoseCopiesLoseBytesIsRefused) {
  SimMachine machine({.devices = 2, .memory = 16_MiB, .peers_carry = false});
  PeerTier tier(machine.driver(), {{kNear, 8_MiB}});
  EXPECT_EQ(tier.try_admit(kBorrower).code(), Code::kNotSupported);
  machine.finish();
}

TEST_F(PeerTierTest, ProbesWithExistingFramesWhenNoneIsLeft) {
  PeerTier tier(sim(), {{kNear, 16_MiB}});
  ASSERT_TRUE(tier.try_admit(kBorrower).is_ok());
  std::vector<Frame> frames;
  while (frames.size() < 8) frames.push_back(tier.take(PageClass::kBase).value());
  EXPECT_EQ(tier.try_admit(kFar).to_string(), "ok");
  EXPECT_EQ(sim().mapping_at(PeerTier::alias_of(frames[0]))->access, bit(kNear) | bit(kBorrower) | bit(kFar));
  for (const Frame& frame : frames) tier.give_back(frame);
}

}  // namespace
}  // namespace tessera
