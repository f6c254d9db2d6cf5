#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "observe/profiler.hpp"

namespace tessera {
namespace {

const std::string kTool = TESSERA_TEST_BUILD_DIR "/tests/nvtx_tool.so";

std::string all_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A single test, as NVTX looks for its tool once per process.
TEST(NvtxProfiler, TheToolReceivesEachCall) {
  if (!std::filesystem::exists(kTool)) GTEST_SKIP() << "built without the headers of NVTX";
  const std::string output = ::testing::TempDir() + "/nvtx_profiler_test.told";
  std::filesystem::remove(output);
  ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", kTool.c_str(), 1), 0);
  ASSERT_EQ(setenv("NVTX_TOOL_OUTPUT", output.c_str(), 1), 0);
  Profiler* const profiler = attached_profiler();
  ASSERT_NE(profiler, nullptr);
  EXPECT_EQ(attached_profiler(), profiler);

  profiler->begin_move(Link::kIn, Address(0x1000), Bytes(10));
  profiler->begin_move(Link::kFileWrite, Address(0x2000), Bytes(20));
  profiler->begin_move(Link::kIn, Address(0x1000), Bytes(11));  // the first one failed
  profiler->end_move(Address(0x1000));
  profiler->end_move(Address(0x1000));
  profiler->end_move(Address(0x2000));
  profiler->mark("iteration", 7);
  profiler->mark("epoch", 1);
  profiler->mark("iteration", 8);
  EXPECT_EQ(all_of(output),
            "domain tessera\n"
            "start 1 in 10\n"
            "start 2 file write 20\n"
            "start 3 in 11\n"
            "end 1\n"
            "end 3\n"
            "end 2\n"
            "start 4 iteration 7\n"
            "start 5 epoch 1\n"
            "end 4\n"
            "start 6 iteration 8\n");
}

}  // namespace
}  // namespace tessera
