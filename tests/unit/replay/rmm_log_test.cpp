#include "replay/rmm_log.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "replay/bounds.hpp"
#include "replay/trace_reader.hpp"

namespace tessera {
namespace {

constexpr const char* kFirst = "Thread,Time,Action,Pointer,Size,Stream\n";

Result<Trace> read_log(const std::string& rows) {
  std::istringstream lines(kFirst + rows);
  return read_trace(lines, "log.csv");
}

std::string fault_in_log(const std::string& rows) { return std::string(read_log(rows).status().message()); }

TEST(RmmLog, EachRowIsAnOperationThatTakesTheTimeSinceTheRowBefore) {
  const auto trace = read_log("7,15:47:02.841961,allocate,0x1000,1048576,0\n"
                              "7,15:47:02.841971,allocate,0x2000,512,0x2\n"
                              "8,15:47:03.841971,free,0x1000,1048576,0\r\n");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  ASSERT_EQ(trace.value().ops.size(), 3U);
  EXPECT_EQ(trace.value().ops[0].time, Nanoseconds(0));
  EXPECT_EQ(trace.value().ops[1].time, Nanoseconds(10'000));
  EXPECT_EQ(trace.value().ops[2].time, Nanoseconds(1'000'000'000));
  EXPECT_EQ(trace.value().ops[0].writes, 1U);
  EXPECT_EQ(trace.value().ops[2].reads, 1U);
  EXPECT_EQ(trace.value().streams, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(trace.value().source, "rmm");
  EXPECT_EQ(bounds_of(trace.value()).liveness_peak, Bytes(1048576 + 512));
}

TEST(RmmLog, AnAddressMayServeManyBlocks) {
  const auto trace = read_log("7,15:47:02.000000,allocate,0x1000,8,0\n"
                              "7,15:47:02.000001,free,0x1000,8,0\n"
                              "7,15:47:02.000002,allocate,0x1000,9,0\n");
  ASSERT_TRUE(trace.is_ok());
  ASSERT_EQ(trace.value().blocks.size(), 2U);
  EXPECT_EQ(trace.value().blocks[1].bytes, Bytes(9));
}

TEST(RmmLog, FailuresEmptyBlocksAndOlderBlocksAreLeftOut) {
  const auto trace = read_log("7,15:47:02.000000,allocate failure,0x0,99,0\n"
                              "7,15:47:02.000001,free,0x5000,8,0\n"
                              "7,15:47:02.000002,allocate,0x0,0,0\n");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_TRUE(trace.value().events.empty());
}

TEST(RmmLog, MidnightTakesNoTime) {
  const auto trace = read_log("7,23:59:59.999999,allocate,0x1000,8,0\n"
                              "7,00:00:00.000001,free,0x1000,8,0\n");
  ASSERT_TRUE(trace.is_ok());
  EXPECT_EQ(trace.value().ops[1].time, Nanoseconds(0));
}

TEST(RmmLog, ErrorsNameTheLine) {
  EXPECT_EQ(fault_in_log("7,15:47:02.000000,allocate,0x1000,8\n"), "log.csv:2: a row has 6 columns");
  EXPECT_EQ(fault_in_log("\n7,15:47:02.000000,grow,0x1000,8,0\n"),
            "log.csv:3: action is 'grow', none of allocate, free, allocate failure");
  EXPECT_EQ(fault_in_log("7,noon,allocate,0x1000,8,0\n"), "log.csv:2: time is 'noon', not 12:34:56.123456");
  EXPECT_EQ(fault_in_log("7,15:47:02.000000,allocate,0x1000,-8,0\n"), "log.csv:2: size is '-8', not a number");
  EXPECT_EQ(fault_in_log("7,15:47:02.000000,allocate,0x1000,8,0\n7,15:47:02.000000,allocate,0x1000,8,0\n"),
            "log.csv:3: block 4096 is allocated already");
}

TEST(RmmLog, OtherFirstLinesAreNoSuchLog) {
  EXPECT_TRUE(is_rmm_log("Thread,Time,Action,Pointer,Size,Stream\r"));
  EXPECT_FALSE(is_rmm_log("{\"t\":\"header\"}"));
}

}  // namespace
}  // namespace tessera
