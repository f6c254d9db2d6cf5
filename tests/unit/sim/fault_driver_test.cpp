#include "sim/fault_driver.hpp"

#include <gtest/gtest.h>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class FaultDriverTest : public ::testing::Test {
 protected:
  static constexpr DeviceId kDevice{0};

  Status refused() const { return {Code::kDriver, "told to", native::kUnknown}; }
  bool event_works() {
    const auto event = fault_.create_event(kDevice);
    if (!event.is_ok()) return false;
    return fault_.destroy_event(event.value()).is_ok();
  }

  SimMachine machine_;
  FaultDriver fault_{machine_.driver()};
};

TEST_F(FaultDriverTest, OnlyTheNthCallFailsAndOnlyOnce) {
  fault_.fail({.call = DriverCall::kCreateEvent, .nth = 3, .status = refused()});
  EXPECT_TRUE(event_works());
  EXPECT_TRUE(event_works());
  EXPECT_FALSE(event_works());
  EXPECT_TRUE(event_works());
  EXPECT_EQ(fault_.failed(), 1U);
}

TEST_F(FaultDriverTest, TheCallerGetsTheVeryStatus) {
  fault_.fail({.call = DriverCall::kReserve, .status = refused()});
  const auto at = fault_.reserve(2_MiB, 2_MiB);
  EXPECT_EQ(at.status().native_code(), native::kUnknown);
  EXPECT_EQ(at.status().message(), "told to");
}

TEST_F(FaultDriverTest, FromThenOnMeansAllLaterCalls) {
  fault_.fail({.call = DriverCall::kCreateEvent, .nth = 2, .status = refused(), .from_then_on = true});
  EXPECT_TRUE(event_works());
  EXPECT_FALSE(event_works());
  EXPECT_FALSE(event_works());
  fault_.clear();
  EXPECT_TRUE(event_works());
}

TEST_F(FaultDriverTest, WithoutAKindEveryCallCounts) {
  fault_.fail({.call = {}, .nth = 2, .status = refused()});
  const auto event = fault_.create_event(kDevice);
  ASSERT_TRUE(event.is_ok());
  EXPECT_FALSE(fault_.destroy_event(event.value()).is_ok());
  EXPECT_TRUE(fault_.destroy_event(event.value()).is_ok()) << "the failed call changed nothing";
}

TEST_F(FaultDriverTest, CallsAreCountedByKind) {
  EXPECT_EQ(fault_.device_count(), 1);
  EXPECT_TRUE(event_works());
  EXPECT_TRUE(event_works());
  EXPECT_EQ(fault_.calls(DriverCall::kCreateEvent), 2U);
  EXPECT_EQ(fault_.calls(DriverCall::kDestroyEvent), 2U);
  EXPECT_EQ(fault_.calls(DriverCall::kDeviceCount), 1U);
  EXPECT_EQ(fault_.total_calls(), 5U);
}

}  // namespace
}  // namespace tessera
