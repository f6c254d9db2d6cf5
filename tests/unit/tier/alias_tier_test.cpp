#include "tier/alias_tier.hpp"

#include <gtest/gtest.h>

#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"
#include "tier/backing_tier.hpp"

namespace tessera {
namespace {

constexpr DeviceId kSecond{1};

class AliasTierTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  SimDriver& sim() { return machine_.driver(); }
  // The first byte at an address, as read by a copy of `device`; -1 if it has no access.
  int byte_at(Address address, DeviceId device) {
    const StreamId stream = sim().create_stream(device).take();
    unsigned char byte = 0;
    Status copied = sim().copy_out(&byte, address, Bytes(1), stream);
    if (copied.is_ok()) copied = sim().synchronize(stream);
    EXPECT_TRUE(sim().destroy_stream(stream).is_ok());
    return copied.is_ok() ? byte : -1;
  }
  void put(Address address, std::uint8_t value) {
    EXPECT_TRUE(sim().fill(address, value, kBasePage, StreamId(0)).is_ok());
    EXPECT_TRUE(sim().synchronize(DeviceId(0)).is_ok());
  }

  SimMachine machine_{SimOptions{.devices = 2, .memory = 16_MiB}};
};

TEST_F(AliasTierTest, ALargeFrameInPlaceOfSpareBaseFramesIsWhole) {
  BackingTier tier(sim(), DeviceId(0), 32_MiB);
  std::vector<Frame> frames;
  while (frames.size() < kBasePerLarge) frames.push_back(tier.take(PageClass::kBase).value());
  for (const Frame& frame : frames) tier.give_back(frame);
  const Frame large = tier.take(PageClass::kLarge).value();
  EXPECT_EQ(tier.usage().spare, Bytes());
  const Address last = AliasTier::alias_of(large) + (kLargePage - kBasePage);
  put(last, 5);
  EXPECT_EQ(byte_at(last, DeviceId(0)), 5);
  tier.give_back(large);
}

TEST_F(AliasTierTest, BytesCopiedToTheAliasAppearInEveryMapping) {
  BackingTier tier(sim(), DeviceId(0), 8_MiB);
  const Frame frame = tier.take(PageClass::kBase).value();
  EXPECT_EQ(frame.tier, Location::kHost);
  put(AliasTier::alias_of(frame), 7);
  const Address page = sim().reserve(kBasePage, kBasePage).take();
  ASSERT_TRUE(sim().map(page, kBasePage, tier.handle_of(frame)).is_ok());
  ASSERT_TRUE(sim().set_access(page, kBasePage, DeviceId(0)).is_ok());
  EXPECT_EQ(byte_at(page, DeviceId(0)), 7);
  put(page, 8);
  EXPECT_EQ(byte_at(AliasTier::alias_of(frame), DeviceId(0)), 8);
  EXPECT_TRUE(sim().unmap(page, kBasePage).is_ok());
  EXPECT_TRUE(sim().release(page, kBasePage).is_ok());
  EXPECT_EQ(byte_at(AliasTier::alias_of(frame), DeviceId(0)), 8);
  tier.give_back(frame);
}

TEST_F(AliasTierTest, ADeviceThatIsAdmittedReachesOldAndNewFrames) {
  BackingTier tier(sim(), DeviceId(0), 8_MiB);
  const Frame before = tier.take(PageClass::kBase).value();
  ASSERT_TRUE(tier.admit(kSecond).is_ok());
  ASSERT_TRUE(tier.admit(kSecond).is_ok()) << "twice is as good as once";
  const Frame after = tier.take(PageClass::kBase).value();
  for (const Frame& frame : {before, after}) {
    put(AliasTier::alias_of(frame), 9);
    EXPECT_EQ(byte_at(AliasTier::alias_of(frame), kSecond), 9);
    EXPECT_NE(sim().mapping_at(AliasTier::alias_of(frame))->access & 2, 0U);
    tier.give_back(frame);
  }
}

TEST_F(AliasTierTest, AFailedFrameCreationLeaksNothing) {
  FaultDriver driver(sim());
  BackingTier tier(driver, DeviceId(0), 8_MiB);
  for (DriverCall call : {DriverCall::kCreateFrame, DriverCall::kReserve, DriverCall::kMap, DriverCall::kSetAccess}) {
    driver.fail({call, 1, Status(Code::kDriver, "injected", 999)});
    EXPECT_EQ(tier.take(PageClass::kBase).status().native_code(), 999) << name_of(call);
    EXPECT_EQ(tier.usage().used, Bytes());
  }
  EXPECT_TRUE(sim().leaks().empty());
}

TEST_F(AliasTierTest, RetriesAccessThatIsNotReady) {
  FaultDriver driver(sim());
  BackingTier tier(driver, DeviceId(0), 8_MiB);
  const auto fail_once = [&] { driver.fail({DriverCall::kSetAccess, 1, Status(Code::kNotReady, "busy", 600)}); };
  fail_once();
  const Result<Frame> frame = tier.take(PageClass::kBase);
  ASSERT_TRUE(frame.is_ok()) << frame.status().to_string();
  fail_once();
  EXPECT_EQ(tier.admit(kSecond).to_string(), "ok");
  EXPECT_EQ(driver.failed(), 1U);
  tier.give_back(frame.value());
}

TEST_F(AliasTierTest, AFrameThatCannotBeDestroyedIsReused) {
  FaultDriver driver(sim());
  BackingTier tier(driver, DeviceId(0), 8_MiB);
  const Frame frame = tier.take(PageClass::kBase).value();
  tier.give_back(frame);
  driver.fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999)});
  tier.trim();
  EXPECT_EQ(tier.usage().spare, kBasePage);
  EXPECT_EQ(tier.take(PageClass::kBase).value().value, frame.value);
  tier.give_back(frame);
}

}  // namespace
}  // namespace tessera
