// Calls newer than the headers of this build are intercepted like any others, whichever headers those are.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

const std::string kCalls = "./newer_calls preload_kernels.so";

// Without host memory at device addresses, an unseen call would fail.
TEST(NewerCuda, CallsSinceCuda130FindTheirBlocksOnASmallDevice) {
  ASSERT_EQ(run(kCalls).output, "ok\n");
  const Outcome alone = run(kCalls, {{"TESSERA_SOFTWARE_MEMORY", "12MiB"}});
  EXPECT_NE(alone.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << alone.message;
  for (const char* access : {"off", "auto"}) {
    const std::string stats = scratch("s.json");
    const Outcome preloaded = run_preloaded(kCalls, {{"TESSERA_SOFTWARE_MEMORY", "12MiB"},
                                                     {"TESSERA_HOST_MEMORY", "64MiB"},
                                                     {"TESSERA_UNHINTED_ACCESS", access},
                                                     {"TESSERA_STATS", stats}});
    EXPECT_EQ(preloaded.exit_code, 0) << access;
    EXPECT_EQ(preloaded.output, "ok\n") << access;
    EXPECT_EQ(preloaded.message, "") << access;
    const auto report = nlohmann::json::parse(contents(stats));
    EXPECT_GT(report["moves"]["evictions"].get<std::uint64_t>(), 0u);
    EXPECT_EQ(report["held"]["exposed_bytes"].get<int>(), 0) << "a table and a map are known again";
  }
}

TEST(NewerCuda, CallsThatKeepOrShareABlockAreSeenOrRefused) {
  const std::string stats = scratch("s.json");
  const Outcome refused =
      run_preloaded("./newer_refusals",
                    {{"TESSERA_DEVICE_MEMORY", "8MiB"}, {"TESSERA_HOST_MEMORY", "64MiB"}, {"TESSERA_STATS", stats}});
  EXPECT_EQ(refused.exit_code, 0) << refused.message;
  EXPECT_EQ(refused.output,
            "cuStreamBatchMemOp: CUDA_ERROR_NOT_SUPPORTED\n"  // by the software device
            "cuMulticastBindAddr: CUDA_ERROR_INVALID_VALUE\n"
            "cuLogicalEndpointBindAddr: CUDA_ERROR_INVALID_VALUE\n"
            "cuStreamBeginCaptureToCig: CUDA_ERROR_NOT_SUPPORTED\n"
            "cuPointerGetAttribute: CUDA_SUCCESS\n"
            "locality domain: -1\n");
  EXPECT_EQ(refused.message,
            "tessera: cuStreamBeginCaptureToCig: work for a graphics queue cannot use memory managed by Tessera\n");
  const auto report = nlohmann::json::parse(contents(stats));
  EXPECT_EQ(report["moves"]["bytes_in"].get<int>(), 2 << 20) << "the word's block, before the call";
}

}  // namespace
}  // namespace tessera::programs
