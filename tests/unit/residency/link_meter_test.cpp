#include "residency/pages/link_meter.hpp"

#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "sim/fault_driver.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class LinkMeterTest : public ::testing::Test {
 protected:
  ~LinkMeterTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  // A copy of 1000 bytes that takes `nanoseconds`.
  void copy(std::uint64_t nanoseconds) {
    meter_.before(stream_);
    EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(nanoseconds), {}).is_ok());
    meter_.after(stream_, Bytes(1000));
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  FaultDriver fault_{sim_};
  LinkMeter meter_{fault_, DeviceId(0)};
};

TEST_F(LinkMeterTest, HasNoRateBeforeACopyCompletes) {
  EXPECT_EQ(meter_.rate(), 0);
  copy(100);
  EXPECT_EQ(meter_.rate(), 0);
}

TEST_F(LinkMeterTest, ExcludesIdleTimeFromTheRate) {
  copy(100);
  ASSERT_TRUE(sim_.occupy(stream_, Nanoseconds(5000), {}).is_ok());
  copy(100);
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_DOUBLE_EQ(meter_.rate(), 1e10);
}

TEST_F(LinkMeterTest, PausesAfterASeriesOfMeasurements) {
  const auto copy_and_ask = [this](std::uint64_t nanoseconds) {
    copy(nanoseconds);
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    return meter_.rate();
  };
  for (int i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(copy_and_ask(100), 1e10);
  const std::uint64_t recorded = fault_.calls(DriverCall::kRecordEvent);
  for (int i = 0; i < 4000; ++i) EXPECT_DOUBLE_EQ(copy_and_ask(200), 1e10);
  EXPECT_EQ(fault_.calls(DriverCall::kRecordEvent), recorded);
  for (int i = 0; i < 200; ++i) copy_and_ask(200);
  EXPECT_DOUBLE_EQ(copy_and_ask(200), 5e9);
}

TEST_F(LinkMeterTest, AFailedMeasurementLeaksNoStopwatch) {
  fault_.fail({.call = DriverCall::kRecordEvent, .nth = 2, .status = Status(Code::kDriver, "told to")});
  copy(100);
  ASSERT_EQ(fault_.failed(), 1u);
  fault_.clear();
  for (int i = 0; i < 8; ++i) copy(100);
  const std::uint64_t recorded = fault_.calls(DriverCall::kRecordEvent);
  copy(100);
  EXPECT_EQ(fault_.calls(DriverCall::kRecordEvent), recorded) << "the series is complete";
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_DOUBLE_EQ(meter_.rate(), 1e10);
}

TEST_F(LinkMeterTest, MeasuresAgainAfterAWhile) {
  for (int i = 0; i < 8; ++i) copy(100);
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_DOUBLE_EQ(meter_.rate(), 1e10);
  for (int i = 0; i < 100; ++i) copy(200);  // untimed
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_DOUBLE_EQ(meter_.rate(), 1e10);
  for (int i = 0; i < 5000; ++i) copy(200);
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_DOUBLE_EQ(meter_.rate(), 5e9);
}

}  // namespace
}  // namespace tessera
