#include "lab/replay/trace_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace tessera {
namespace {

Result<Trace> read(const std::string& text) {
  std::istringstream lines(text);
  return read_trace(lines, "t");
}

std::string fault(const std::string& text) { return std::string(read(text).status().message()); }

TEST(TraceReader, ReadsEveryLineOfTheFormat) {
  const auto read_back = read(R"({"t":"header","version":1,"name":"n","source":"s","device_memory":4096}
{"t":"alloc","id":1,"bytes":1048576,"stream":3,"tag":"weight","recompute_ns":9,"new key":[]}

{"t":"op","name":"gemm","ns":12345,"stream":3,"device":1,"r":[1],"w":[1]}
{"t":"mark","kind":"iteration","n":1}
{"t":"recompute","id":1,"recompute_ns":12}
{"t":"free","id":1}
)");
  ASSERT_TRUE(read_back.is_ok()) << read_back.status().to_string();
  const Trace& trace = read_back.value();
  EXPECT_EQ(trace.name, "n");
  EXPECT_EQ(trace.device_memory, 4_KiB);
  EXPECT_EQ(trace.blocks[0].recompute, Nanoseconds(9));
  EXPECT_EQ(trace.streams, (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(trace.ops[0].time, Nanoseconds(12345));
  EXPECT_EQ(trace.ops[0].updates, 1U);
  EXPECT_EQ(trace.ops[0].device, 1U);
  EXPECT_TRUE(trace.is_iteration(trace.marks[0]));
  EXPECT_EQ(trace.recomputes[0].time, Nanoseconds(12));
  EXPECT_EQ(trace.events.size(), 5U);
}

TEST(TraceReader, AListMayNamePartsAndTheWholeBlockWins) {
  const Trace trace = trace_of(R"({"t":"alloc","id":1,"bytes":100}
{"t":"alloc","id":2,"bytes":100}
{"t":"op","ns":1,"r":[[1,0,10],2],"w":[[1,50,50],[2,0,1]]}
)");
  ASSERT_EQ(trace.parts.size(), 2U);
  EXPECT_EQ(trace.operands[trace.parts[0].operand], 0U);
  EXPECT_EQ(trace.parts[1].offset, 50_B);
  EXPECT_EQ(trace.ops[0].writes, 2U);
  for (const char* bad : {"[1,0]", "[1,0,-1]", "[1,0,\"5\"]", "[[1,0,1]]", "[9,0,1]", "[1,99,2]"}) {
    std::istringstream lines("{\"t\":\"alloc\",\"id\":1,\"bytes\":100}\n{\"t\":\"op\",\"ns\":1,\"r\":[" +
                             std::string(bad) + "]}\n");
    EXPECT_FALSE(read_trace(lines, "t").is_ok()) << bad;
  }
}

TEST(TraceReader, ErrorsNameTheLine) {
  const std::string good = R"({"t":"alloc","id":1,"bytes":4})"
                           "\n";
  EXPECT_EQ(fault(good + "{\n"), "t:2: not a JSON object");
  EXPECT_EQ(fault("hello"), "t:1: neither a trace of `tessera run --trace FILE` nor an RMM log");
  EXPECT_EQ(fault(good + R"({"t":"op","r":[2]})"), "t:2: use of block 2, which is not allocated");
  EXPECT_EQ(fault(R"({"t":"alloc","id":1})"), "t:1: \"bytes\" is missing");
  EXPECT_EQ(fault(R"({"t":"alloc","id":1,"bytes":-4})"), "t:1: \"bytes\" is not a whole number");
  EXPECT_EQ(fault(R"({"t":"header","version":2})"), "t:1: unknown format version 2");
  EXPECT_EQ(fault(good + R"({"t":"recompute","id":1})"), "t:2: \"recompute_ns\" is missing");
  EXPECT_NE(fault(R"({"t":"regen","id":1,"regen_ns":12})").find("is now \"recompute\""), std::string::npos);
  EXPECT_NE(fault(R"({"t":"alloc","id":1,"bytes":8,"regen_ns":9})").find("is now \"recompute_ns\""), std::string::npos);
  EXPECT_NE(fault(R"({"t":"launch"})").find("not one of header"), std::string::npos);
  EXPECT_EQ(read_trace("no/such/trace").status().code(), Code::kIo);
}

TEST(TraceReader, ATruncatedTraceGivesItsLinesAndAtMostOneNote) {
  const std::string whole = R"({"t":"header","version":1,"name":"n"}
{"t":"alloc","id":1,"bytes":1048576,"tag":"ü"}
{"t":"op","name":"gemm","ns":12345,"w":[1]}
{"t":"mark","kind":"iteration","n":1}
{"t":"free","id":1}
)";
  const std::size_t first = whole.find('\n');
  for (std::size_t bytes = first; bytes <= whole.size(); ++bytes) {
    const std::string part = whole.substr(0, bytes);
    const auto trace = read(part);
    ASSERT_TRUE(trace.is_ok()) << part << trace.status().to_string();
    // A line is complete in all that matters once its last brace is there.
    const bool whole_line = part.ends_with('\n') || part.ends_with('}');
    EXPECT_EQ(trace.value().notes.empty(), whole_line) << part;
    const auto braces = static_cast<std::size_t>(std::count(part.begin(), part.end(), '}'));
    EXPECT_EQ(trace.value().events.size(), braces - 1) << part;
  }
}

TEST(TraceReader, OtherBytesAreNoTrace) {
  using std::string_literals::operator""s;
  EXPECT_EQ(fault("\x13\x00\xfe\n"s), "t:1: neither a trace of `tessera run --trace FILE` nor an RMM log");
  EXPECT_TRUE(read("\0\0\0"s).is_ok()) << "the program was killed before it wrote the first line";
}

TEST(TraceReader, TracesOfSeveralRanksInOneFileAreNamed) {
  const std::string one = R"({"t":"header","version":1}
{"t":"alloc","id":1,"bytes":4}
)";
  EXPECT_EQ(fault(one + one), "t:3: another trace begins here, for example of another rank; replay each separately");
}

}  // namespace
}  // namespace tessera
