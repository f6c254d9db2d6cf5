#include "lab/replay/rmm_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "lab/replay/bounds.hpp"
#include "lab/replay/trace_reader.hpp"

namespace tessera {
namespace {

constexpr const char* kFirst = "Thread,Time,Action,Pointer,Size,Stream\n";

Result<Trace> read_log(const std::string& rows) {
  std::istringstream lines(kFirst + rows);
  return read_trace(lines, "log.csv");
}

std::string fault_in_log(const std::string& rows) { return std::string(read_log(rows).status().message()); }

TEST(RmmLog, EachRowIsAnOperationThatTakesTheTimeSinceTheRowBefore) {
  const auto trace = read_log(
      "7,15:47:02.841961,allocate,0x1000,1048576,0\n"
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
  const auto trace = read_log(
      "7,15:47:02.000000,allocate,0x1000,8,0\n"
      "7,15:47:02.000001,free,0x1000,8,0\n"
      "7,15:47:02.000002,allocate,0x1000,9,0\n");
  ASSERT_TRUE(trace.is_ok());
  ASSERT_EQ(trace.value().blocks.size(), 2U);
  EXPECT_EQ(trace.value().blocks[1].bytes, Bytes(9));
}

TEST(RmmLog, FailuresEmptyBlocksAndOlderBlocksAreLeftOut) {
  const auto trace = read_log(
      "7,15:47:02.000000,allocate failure,0x0,99,0\n"
      "7,15:47:02.000000,allocate failure,(nil),99,0x2\n"
      "7,15:47:02.000001,free,0x5000,8,0\n"
      "7,15:47:02.000001,free,(nil),0,(nil)\n"
      "7,15:47:02.000002,allocate,0x0,0,0\n");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_TRUE(trace.value().events.empty());
  EXPECT_TRUE(trace.value().notes.empty());
}

TEST(RmmLog, RowsOfAllVersionsAreRead) {
  for (const char* row :
       {"7,15:47:02.000001,allocate,0x1000,8,0", "7,15:47:02:000001,allocate,0x1000,8,(nil)",
        "7,2024-05-01 15:47:02.000001,allocate,0x1000,8,0x0", "7,15:47:02.000001000,allocate,4096,8,nullptr",
        "7,2024-05-01T15:47:02,allocate,0X1000,8,0"}) {
    SCOPED_TRACE(row);
    std::istringstream lines(std::string(row) + "\n7,15:47:02.000003,deallocate,0x1000,8,0\n");
    const auto trace = read_trace(lines, "executor.out");
    ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
    ASSERT_EQ(trace.value().blocks.size(), 1u) << "the first line may be missing";
    EXPECT_EQ(trace.value().blocks[0].id, 0x1000u);
    EXPECT_EQ(trace.value().ops.size(), 2u);
    EXPECT_TRUE(trace.value().notes.empty());
  }
}

TEST(RmmLog, LinesOfOtherProgramsAreCountedAndLeftOut) {
  const auto trace = read_log(
      "INFO worker started, 3, 4, 5, 6\n"
      "7,15:47:02.000000,allocate,0x1000,8,0\n"
      "7,15:47:02.000000,grow,0x2000,8,0\n"
      "7,noon,allocate,0x3000,8,0\n"
      "7,15:47:02.000000,allocate,0x4000,-8,0\n"
      "Thread,Time,Action,Pointer,Size,Stream\n"
      "7,15:47:02.000002,free,0x1000,8,0\n"
      "7,15:47:02.0000");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_EQ(trace.value().ops.size(), 2u);
  ASSERT_EQ(trace.value().notes.size(), 1u);
  EXPECT_EQ(trace.value().notes[0],
            "log.csv: 5 of 7 lines are not rows of an RMM log and were skipped; the first is line 2");
}

TEST(RmmLog, AnAddressThatIsAllocatedTwiceWasFreedBetween) {
  const auto trace = read_log(
      "7,15:47:02.000000,allocate,0x1000,8,0\n"
      "8,15:47:02.000001,allocate,0x1000,16,0\n"
      "7,15:47:02.000001,free,0x1000,8,0\n");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_EQ(trace.value().blocks.size(), 2u);
  ASSERT_EQ(trace.value().notes.size(), 1u);
  EXPECT_NE(trace.value().notes[0].find("1 frees are missing"), std::string::npos) << trace.value().notes[0];
}

TEST(RmmLog, MidnightTakesNoTime) {
  const auto trace = read_log(
      "7,23:59:59.999999,allocate,0x1000,8,0\n"
      "7,00:00:00.000001,free,0x1000,8,0\n");
  ASSERT_TRUE(trace.is_ok());
  EXPECT_EQ(trace.value().ops[1].time, Nanoseconds(0));
}

TEST(RmmLog, ALogWithoutARowIsAnError) {
  EXPECT_EQ(fault_in_log("\nhello\n"), "log.csv: an RMM log without any row in its 3 lines");
  EXPECT_EQ(fault_in_log(""), "log.csv: an RMM log without any row in its 1 lines");
}

TEST(RmmLog, ATruncatedLogGivesItsRows) {
  const std::string rows =
      "7,15:47:02.841961,allocate,0x1000,1048576,0\n"
      "7,15:47:02.841971,allocate,0x2000,512,0x2\n"
      "8,15:47:03.841971,free,0x1000,1048576,0\r\n";
  for (std::size_t bytes = rows.find('\n') + 1; bytes <= rows.size(); ++bytes) {
    const std::string part = rows.substr(0, bytes);
    const auto trace = read_log(part);
    ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
    EXPECT_GE(trace.value().ops.size(), static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')));
    EXPECT_LE(trace.value().notes.size(), 1u);
  }
}

TEST(RmmLog, OtherFirstLinesAreNoSuchLog) {
  EXPECT_TRUE(is_rmm_log("Thread,Time,Action,Pointer,Size,Stream\r"));
  EXPECT_TRUE(is_rmm_log("1979932,14:21:19.998533,allocate,0x30a000000,256,0x2"));
  EXPECT_FALSE(is_rmm_log("{\"t\":\"header\"}"));
  EXPECT_FALSE(is_rmm_log("a,b,c,d,e,f"));
}

}  // namespace
}  // namespace tessera
