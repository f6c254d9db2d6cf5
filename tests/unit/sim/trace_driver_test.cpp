#include "sim/trace_driver.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class TraceDriverTest : public ::testing::Test {
 protected:
  SimMachine machine_;
  TraceDriver trace_{machine_.driver()};
};

TEST_F(TraceDriverTest, ACallIsRecordedWithItsOperandsAndResult) {
  const auto at = trace_.reserve(4_MiB, 2_MiB);
  ASSERT_TRUE(at.is_ok());
  ASSERT_TRUE(trace_.release(at.value(), 4_MiB).is_ok());
  const std::uint64_t start = at.value().value();
  const std::vector<DriverRecord> expected = {
      {.call = DriverCall::kReserve, .operands = {4U << 20, 2U << 20, 0, 0}, .result = start},
      {.call = DriverCall::kRelease, .operands = {start, 4U << 20, 0, 0}},
  };
  EXPECT_EQ(trace_.records(), expected);
}

TEST_F(TraceDriverTest, AFailureIsRecordedWithItsCode) {
  EXPECT_FALSE(trace_.destroy_frame(FrameId(7)).is_ok());
  const auto records = trace_.records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].code, Code::kDriver);
  EXPECT_EQ(records[0].native_code, native::kInvalidHandle);
  EXPECT_EQ(records[0].to_string(), "destroy_frame(0x7, 0x0, 0x0, 0x0) = driver error 400");
}

TEST_F(TraceDriverTest, ALaunchIsRecordedByItsShape) {
  const std::byte parameters[16] = {};
  const Launch launch{
      .kernel = churn_kernel(), .grid = {2, 3, 1}, .block = {32, 1, 1}, .shared_bytes = 0, .parameters = parameters};
  ASSERT_TRUE(trace_.launch(launch, StreamId(0)).is_ok());
  ASSERT_TRUE(trace_.synchronize(DeviceId(0)).is_ok());
  EXPECT_EQ(trace_.records()[0].operands[2], 6U);
  EXPECT_EQ(trace_.records()[0].operands[3], 16U);
}

TEST_F(TraceDriverTest, OnlyTheNewestRecordsAreKept) {
  TraceDriver small(machine_.driver(), 2);
  EXPECT_EQ(small.device_count(), 1);
  EXPECT_TRUE(small.properties(DeviceId(0)).is_ok());
  EXPECT_TRUE(small.memory_info(DeviceId(0)).is_ok());
  ASSERT_EQ(small.records().size(), 2U);
  EXPECT_EQ(small.records()[0].call, DriverCall::kProperties);
  EXPECT_EQ(small.dropped(), 1U);
  small.clear();
  EXPECT_TRUE(small.records().empty());
}

TEST(TraceDriverThreads, EachKnowsItsOwnCalls) {
  SimMachine machine;
  TraceDriver trace(machine.driver());
  trace.device_count();
  std::vector<DriverRecord> of_other;
  std::thread other([&] {
    EXPECT_TRUE(trace.properties(kDevice).is_ok());
    of_other = trace.records_of(std::this_thread::get_id());
  });
  other.join();
  ASSERT_EQ(of_other.size(), 1U);
  EXPECT_EQ(of_other.front().call, DriverCall::kProperties);
  EXPECT_EQ(trace.records().size(), 2U);
}

}  // namespace
}  // namespace tessera
