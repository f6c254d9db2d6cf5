#include "split_input.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace {

std::string read(const std::string& text, SplitInput& input, double bandwidth = 1e9) {
  std::istringstream stream(text);
  return read_split_input(stream, bandwidth, input);
}

TEST(SplitInput, AGraphInThePublishedFormatIsRead) {
  SplitInput input;
  ASSERT_EQ(read(R"({"maxSizePerFPGA": 100.0, "maxFPGAs": 2, "maxCPUs": 1,
      "nodes": [{"id": 7, "supportedOnFpga": 1, "cpuLatency": 5.0, "fpgaLatency": 0.5, "size": 8.0,
                 "isBackwardNode": 0, "colorClass": 3},
                {"id": 9, "supportedOnFpga": false, "cpuLatency": 1, "fpgaLatency": 1,
                 "isBackwardNode": true}],
      "edges": [{"sourceId": 7, "destId": 9, "cost": 0.25}]})",
                 input),
            "");
  EXPECT_FALSE(input.trace);
  EXPECT_EQ(input.accelerators, 2U);
  EXPECT_EQ(input.cpus, 1U);
  EXPECT_EQ(input.accelerator_bytes, 100U);
  EXPECT_EQ(input.names, (std::vector<std::uint64_t>{7, 9}));
  EXPECT_EQ(input.nodes[0].output_time, 0.25);
  EXPECT_EQ(input.nodes[0].group, 3U);
  EXPECT_TRUE(input.nodes[1].backward && input.nodes[1].cpu_only);
  ASSERT_EQ(input.edges.size(), 1U);
  EXPECT_EQ(input.edges[0].to, 1U);
}

constexpr const char* kTrace = R"({"t":"header","version":1,"name":"x"}
{"t":"alloc","id":1,"bytes":1000}
{"t":"op","name":"init","ns":5,"r":[],"w":[1]}
{"t":"mark","kind":"iteration","n":1}
{"t":"alloc","id":2,"bytes":2000}
{"t":"op","name":"a","ns":10,"r":[1],"w":[2]}
{"t":"op","name":"b","ns":20,"r":[1,2],"w":[2]}
{"t":"op","name":"c","ns":30,"r":[2],"w":[]}
{"t":"op","name":"d","ns":30,"r":[2],"w":[]}
{"t":"free","id":2}
{"t":"mark","kind":"iteration","n":2}
{"t":"op","name":"never","ns":10,"r":[1],"w":[]}
)";

TEST(SplitInput, TakesOneIterationOfATrace) {
  SplitInput input;
  ASSERT_EQ(read(kTrace, input), "");
  EXPECT_TRUE(input.trace);
  ASSERT_EQ(input.nodes.size(), 4U);
  EXPECT_EQ(input.nodes[2].accelerator_time, 30.0);
}

TEST(SplitInput, AnOperationHoldsNewBlocksAndPassesOnItsOutputs) {
  SplitInput input;
  ASSERT_EQ(read(kTrace, input), "");
  EXPECT_EQ(input.nodes[0].bytes, 3000U);
  EXPECT_EQ(input.nodes[1].bytes, 0U);
  // 2000 bytes at 1 GB/s, however often they are read; weights from before cost nothing.
  EXPECT_EQ(input.nodes[0].output_time, 2000.0);
  EXPECT_EQ(input.nodes[1].output_time, 2000.0);
  EXPECT_EQ(input.nodes[2].output_time, 0.0);
  EXPECT_EQ(input.edges.size(), 3U);
}

TEST(SplitInput, ManyOperationsArePutTogetherInTheirOrder) {
  std::string text = "{\"t\":\"header\"}\n";
  for (int i = 0; i < 5000; ++i) text += "{\"t\":\"op\",\"ns\":7}\n";
  SplitInput input;
  ASSERT_EQ(read(text, input), "");
  EXPECT_LT(input.nodes.back().group, 2000U);
  for (std::size_t i = 1; i < input.nodes.size(); ++i) {
    ASSERT_LE(input.nodes[i - 1].group, input.nodes[i].group);
  }
}

TEST(SplitInput, NamesErrors) {
  SplitInput input;
  EXPECT_EQ(read("{\"t\":\"header\"}\n{\"t\":\"op\",\"ns\":5,\"r\":[1]}\n", input), "line 2: no such block: 1");
  EXPECT_NE(read("hello", input).find("neither"), std::string::npos);
  EXPECT_EQ(read("{\"t\":\"header\"}\n", input), "it has no operations");
  EXPECT_EQ(read("{\"t\":\"header\"}\n{\"t\":\"op\"}\n{\"t\":\"op\",\"ns\":0}\n", input),
            "none of its operations has a duration (ns)");
}

}  // namespace
