// Kernels launched by handles of every kind, under drivers that reveal less about kernel parameters than others.
#include <gtest/gtest.h>

#include <string>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

const std::string kProgram = "./kernel_handles preload_kernels.so";
constexpr const char* kSmall = "11MiB";  // less than half of what the program allocates

Environment driver_that(const std::string& tells) { return {{"TESSERA_SOFTWARE_PARAMETERS", tells}}; }

Environment on_small(Environment environment) {
  environment["TESSERA_SOFTWARE_MEMORY"] = kSmall;
  return environment;
}

TEST(PreloadHandles, KernelsLaunchedByLibraryHandlesFindTheirBlocks) {
  const Outcome alone = run(kProgram, on_small({}));
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  const Outcome launched = run_preloaded(kProgram, on_small({}));
  EXPECT_EQ(launched.output, "ok\n");
  EXPECT_EQ(launched.message, "");
}

TEST(PreloadHandles, ATraceHasTheNamesOfKernelsForAllHandles) {
  for (const char* const tells : {"told", "refused"}) {
    Environment environment = on_small(driver_that(tells));
    const std::string trace = scratch(tells);
    environment["TESSERA_TRACE"] = trace;
    EXPECT_EQ(run_preloaded(kProgram + " launches", environment).output, "ok\n");
    const std::string text = contents(trace);
    EXPECT_NE(text.find("add_one"), std::string::npos) << tells;
    EXPECT_NE(text.find("add_to_lists"), std::string::npos) << tells;
    EXPECT_EQ(text.find("cuLaunchKernel"), std::string::npos) << tells;
  }
}

TEST(PreloadHandles, ParameterCountsAreTrustedOnlyForTheSameKindOfHandle) {
  const Outcome launched = run_preloaded(kProgram, on_small(driver_that("mixed")));
  EXPECT_EQ(launched.output, "ok\n");
  EXPECT_EQ(launched.message, "");
}

TEST(PreloadHandles, WithoutAParameterLayoutEveryWordCounts) {
  const std::string line =
      "tessera: cuLaunchKernel: the driver does not report the kernel's parameter layout: all words near its "
      "parameters are treated as addresses\n";
  for (const char* const tells : {"first", "refused"}) {
    const Outcome launched = run_preloaded(kProgram + " launches", on_small(driver_that(tells)));
    EXPECT_EQ(launched.output, "ok\n") << tells;
    EXPECT_EQ(launched.message, line) << tells;
    const Outcome graphs = run_preloaded(kProgram + " graphs", driver_that(tells));
    EXPECT_EQ(graphs.output, "ok\n") << tells << graphs.message;
  }
}

TEST(PreloadHandles, AGraphWithHiddenKernelsKeepsAllBlocks) {
  const Outcome launched = run_preloaded(kProgram + " graphs", driver_that("hidden"));
  EXPECT_EQ(launched.output, "ok\n");
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: the blocks that it uses are unknown: from "
                                  "now on all blocks stay in device memory\n"),
            std::string::npos)
      << launched.message;
}

TEST(PreloadHandles, AGraphWithHiddenKernelsIsOutOfMemoryWhenBlocksDoNotFit) {
  const Outcome launched = run_preloaded(kProgram + " graphs", on_small(driver_that("hidden")));
  EXPECT_EQ(launched.exit_code, 1);
  EXPECT_NE(launched.message.find("tessera: cuGraphLaunch: the blocks that it uses are unknown, and not all "
                                  "blocks fit in device memory\n"),
            std::string::npos)
      << launched.message;
  EXPECT_NE(launched.message.find("cuGraphLaunch(exec, stream): CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << launched.message;
}

}  // namespace
}  // namespace tessera::programs
