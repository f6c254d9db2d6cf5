#include "lab/replay/kind_times.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "trace_text.hpp"

namespace tessera {
namespace {

std::string untimed_op(const char* name, std::uint64_t id) {
  return std::string(R"({"t":"op","name":")") + name + R"(","r":[)" + std::to_string(id) + "]}\n";
}
std::string time_line(const char* name, int blocks, Bytes bytes, std::uint64_t nanoseconds) {
  return fmt::format("{{\"t\":\"time\",\"name\":\"{}\",\"blocks\":{},\"bytes\":{},\"ns\":{}}}\n", name, blocks,
                     bytes.value(), nanoseconds);
}
std::vector<std::uint64_t> times(const Trace& trace) {
  std::vector<std::uint64_t> all;
  for (const TraceOp& op : trace.ops) all.push_back(op.time.value());
  return all;
}

TEST(KindTimes, UntimedOperationsTakeTheMedianOfTheirKind) {
  std::string text = alloc_line(1, 1_MiB) + time_line("gemm", 1, 1_MiB, 9000);  // before any operation, as in an
                                                                                // excerpt of a trace
  for (int i = 0; i < 3; ++i) text += untimed_op("gemm", 1);
  text += time_line("gemm", 1, 1_MiB, 110) + time_line("gemm", 1, 1_MiB, 100);
  EXPECT_EQ(times(trace_of(text)), std::vector<std::uint64_t>(3, 110));
}

TEST(KindTimes, AnotherNameOtherBytesOrMoreBlocksAreAnotherKind) {
  const std::string text = alloc_line(1, 2_MiB) + alloc_line(2, 4_MiB) + alloc_line(3, 2_MiB) + untimed_op("gemm", 1) +
                           untimed_op("gemm", 2) + untimed_op("norm", 1) +
                           R"({"t":"op","name":"gemm","r":[1,3]})"
                           "\n" +
                           untimed_op("gemm", 3) + time_line("gemm", 1, 2_MiB, 70);
  EXPECT_EQ(times(trace_of(text)), (std::vector<std::uint64_t>{70, 0, 0, 0, 70}));
}

TEST(KindTimes, ExplicitDurationsAreKept) {
  const std::string text = alloc_line(1, 1_MiB) + op_line(40, "r", 1) +
                           R"({"t":"op","name":"op","ns":0,"r":[1]})"
                           "\n" +
                           untimed_op("op", 1) + time_line("op", 1, 1_MiB, 7);
  EXPECT_EQ(times(trace_of(text)), (std::vector<std::uint64_t>{40, 0, 7}));
}

}  // namespace
}  // namespace tessera
