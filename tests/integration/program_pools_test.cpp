// Pools that programs create: their blocks are ours, as those of the default pool are.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

// 48 MiB of blocks on a device that has room for a third of them.
void expect_evicted_and_right(const std::string& way) {
  const std::string command = "./pool_users preload_kernels.so " + way;
  const Outcome alone = run(command, {{"TESSERA_SOFTWARE_MEMORY", "96MiB"}});
  EXPECT_EQ(alone.output, "ok\n") << way << ": " << alone.message;
  const std::string stats = scratch(way + ".json");
  const Outcome ran = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "24MiB"},
                                              {"TESSERA_DEVICE_MEMORY", "16MiB"},
                                              {"TESSERA_HOST_MEMORY", "96MiB"},
                                              {"TESSERA_STATS", stats}});
  EXPECT_EQ(ran.exit_code, 0) << way << ": " << ran.message;
  EXPECT_EQ(ran.output, "ok\n") << way;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_GE(report["blocks"]["peak_live_bytes"].get<int>(), 48 << 20) << way;
  EXPECT_EQ(report["blocks"]["allocations"], report["blocks"]["frees"]) << way;
  // Four rounds over blocks of which two thirds are away.
  EXPECT_GE(report["moves"]["bytes_in"].get<std::int64_t>(), 4 * (32LL << 20)) << way;
  const std::string expected =
      way == "core" ? "tessera: cuMemAllocFromPoolAsync: more than the pool's maximum size of 33554432 bytes\n" : "";
  EXPECT_EQ(ran.message, expected) << way;
}

TEST(ProgramPools, AsRmmUsesThemBlocksLeaveAndComeBack) { expect_evicted_and_right("rmm"); }

TEST(ProgramPools, AsOnnxRuntimeUsesThemBlocksLeaveAndComeBack) { expect_evicted_and_right("ort"); }

TEST(ProgramPools, AsCudaCoreUsesThemBlocksLeaveAndComeBack) { expect_evicted_and_right("core"); }

TEST(ProgramPools, AsTensorRtLlmUsesThemBlocksLeaveAndComeBack) { expect_evicted_and_right("trt"); }

TEST(ProgramPools, AmountsAreThoseOfADriver) {
  const Outcome alone = run("./pool_answers amounts");
  EXPECT_EQ(alone.exit_code, 0) << alone.message;
  EXPECT_NE(alone.output.find("\nafter an allocation: used 3145828, at most 3145828, reserved 33554432"),
            std::string::npos)
      << alone.output;
  EXPECT_NE(alone.output.find("\nset by its place: used 3145728,"), std::string::npos) << alone.output;
  const Outcome under = run_preloaded("./pool_answers amounts");
  EXPECT_EQ(under.output, alone.output);
  EXPECT_EQ(under.message, "");
}

TEST(ProgramPools, MisuseGetsTheAnswersOfADriver) {
  const Outcome alone = run("./pool_answers misuse");
  EXPECT_EQ(alone.exit_code, 0) << alone.message;
  EXPECT_NE(alone.output.find("\nallocate beyond it: CUDA_SUCCESS\nallocate far beyond it: CUDA_ERROR_OUT_OF_MEMORY\n"),
            std::string::npos)
      << alone.output;
  const Outcome under = run_preloaded("./pool_answers misuse");
  EXPECT_EQ(under.exit_code, 0) << under.message;
  EXPECT_EQ(under.output, alone.output);
  EXPECT_EQ(run_preloaded("./pool_answers misuse", {{"TESSERA_OFF", "1"}}).output, alone.output);
}

TEST(ProgramPools, RandomCallsGetTheAnswersOfADriver) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const std::string command = "./pool_random preload_kernels.so " + std::to_string(seed) + " 400";
    const Outcome alone = run(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}});
    EXPECT_EQ(alone.exit_code, 0) << seed << alone.message << alone.output;
    EXPECT_EQ(alone.output.find("wrong"), std::string::npos) << seed << alone.output;
    for (const char* const memory : {"256MiB", "16MiB"}) {
      const Outcome under = run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "256MiB"},
                                                    {"TESSERA_DEVICE_MEMORY", memory},
                                                    {"TESSERA_HOST_MEMORY", "256MiB"}});
      EXPECT_EQ(under.output, alone.output) << seed << ", " << memory << under.message;
    }
  }
}

TEST(ProgramPools, EachHasATagThatSleepsAndWakesByItself) {
  const std::string stats = scratch("s.json");
  const Outcome ran =
      run_preloaded("./pool_tags",
                    {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}, {"TESSERA_STATS", stats}});
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["live_bytes_by_tag"]["pool 1"].get<int>(), 8 << 20) << "of the pool that took the tag of the first";
  EXPECT_EQ(report["live_bytes_by_tag"]["pool 2"].get<int>(), 4 << 20);
}

}  // namespace
}  // namespace tessera::programs
