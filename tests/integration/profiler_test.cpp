// A profiler attached through NVTX sees stalls and moves as they happen.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

struct Reported {
  std::vector<std::string> domains;
  std::map<std::string, int> names;              // range name -> count
  std::map<std::string, std::string> under_way;  // moves by id: names
  std::map<std::string, int> depth;              // per thread
  std::uint64_t bytes_in = 0, bytes_out = 0;
  int wrong = 0;  // ends without a beginning
};

// Names may contain blanks: everything between the second word and the last one.
std::string name_in(const std::string& line) {
  const std::size_t begin = line.find(' ', line.find(' ') + 1) + 1;
  return line.substr(begin, line.rfind(' ') - begin);
}

Reported read(const std::string& path) {
  Reported reported;
  std::istringstream lines(contents(path));
  for (std::string line, call, thread_or_id; std::getline(lines, line);) {
    std::istringstream(line) >> call >> thread_or_id;
    if (call == "domain") reported.domains.push_back(thread_or_id);
    if (call == "pop" && --reported.depth[thread_or_id] < 0) ++reported.wrong;
    if (call == "end" && reported.under_way.erase(thread_or_id) == 0) ++reported.wrong;
    if (call != "push" && call != "start") continue;
    const std::string name = name_in(line);
    const std::uint64_t number = std::stoull(line.substr(line.rfind(' ')));
    ++reported.names[name];
    if (call == "push") ++reported.depth[thread_or_id];
    if (call == "start") reported.under_way[thread_or_id] = name;
    if (name == "in") reported.bytes_in += number;
    if (name == "out") reported.bytes_out += number;
  }
  return reported;
}

const std::string kTool = TESSERA_TEST_BUILD_DIR "/tests/nvtx_tool.so";

TEST(Profiler, ReceivesStallsAndMovesThroughNvtx) {
  if (!std::filesystem::exists(kTool)) GTEST_SKIP() << "built without the headers of NVTX";
  const std::string tool_output = scratch("tool_output");
  const Outcome ran = run_preloaded(
      "./large_graph preload_kernels.so",
      {{"TESSERA_SOFTWARE_MEMORY", "10MiB"}, {"NVTX_INJECTION64_PATH", kTool}, {"NVTX_TOOL_OUTPUT", tool_output}});
  ASSERT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.message, "");
  const Reported reported = read(tool_output);
  EXPECT_EQ(reported.domains, std::vector<std::string>{"tessera"});
  EXPECT_EQ(reported.wrong, 0);
  for (const auto& [thread, depth] : reported.depth) EXPECT_EQ(depth, 0) << thread;
  EXPECT_GT(reported.names.at("bring in"), 0);
  EXPECT_GT(reported.names.count("copy_out") + reported.names.count("work") + reported.names.count("copy_in"), 0u);
  EXPECT_GT(reported.bytes_out, 12u << 20) << "each block left at least once";
  EXPECT_GT(reported.bytes_in, 12u << 20);
}

TEST(Profiler, AMissingToolHasNoEffect) {
  const Outcome ran =
      run_preloaded("./vector_add vector_add_kernels.so", {{"NVTX_INJECTION64_PATH", "/nonexistent/tool.so"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
}

}  // namespace
}  // namespace tessera::programs
