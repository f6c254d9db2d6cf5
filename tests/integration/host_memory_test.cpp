// Pinned host memory of programs: served from the host budget, answered as the driver answers, returned when the driver
// has none left; and memory of the driver that is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

using ::testing::MatchesRegex;

Environment with_host(const std::string& bytes, Environment more = {}) {
  more.try_emplace("TESSERA_HOST_MEMORY", bytes);
  more.try_emplace("TESSERA_SOFTWARE_MEMORY", "256MiB");
  return more;
}

// The driver serves pinned memory of the program, and pins no more than `bound`.
Environment on_small_device(const std::string& bound) {
  return with_host(
      "256MiB",
      {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_SOFTWARE_PINNED", bound}, {"TESSERA_HOST_BLOCKS", "0"}});
}

nlohmann::json stats_of(const std::string& command, Environment environment, const std::string& output = "ok\n") {
  const std::string stats = scratch("s.json");
  environment["TESSERA_STATS"] = stats;
  const Outcome ran = run_preloaded(command, environment);
  EXPECT_EQ(ran.output, output) << ran.message;
  return nlohmann::json::parse(contents(stats), nullptr, false);
}

void expect_ok(const std::string& command, const Environment& environment) {
  const Outcome alone = run(command, environment);
  EXPECT_EQ(alone.output, "ok\n") << alone.message;
  const Outcome preloaded = run_preloaded(command, environment);
  EXPECT_EQ(preloaded.output, "ok\n") << preloaded.message;
  EXPECT_EQ(preloaded.exit_code, 0);
  EXPECT_EQ(preloaded.message, "");
}

TEST(PreloadHostMemory, EveryAnswerIsTheDrivers) {
  const Outcome alone = run("./host_memory answers", with_host("256MiB"));
  EXPECT_EQ(alone.exit_code, 0) << alone.message;
  const Outcome preloaded = run_preloaded("./host_memory answers", with_host("256MiB"));
  EXPECT_EQ(preloaded.output, alone.output);
  EXPECT_EQ(preloaded.message, "");
  // The same program, served by the driver alone: the comparison above is of two ways.
  EXPECT_EQ(run_preloaded("./host_memory answers", with_host("256MiB", {{"TESSERA_HOST_BLOCKS", "0"}})).output,
            alone.output);
}

TEST(PreloadHostMemory, RandomCallsGetTheAnswersOfADriver) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const std::string command = "./host_random " + std::to_string(seed) + " 400";
    const Outcome alone = run(command, with_host("256MiB"));
    EXPECT_EQ(alone.exit_code, 0) << seed << alone.message << alone.output;
    EXPECT_EQ(alone.output.find("wrong\n"), std::string::npos) << seed << alone.output;
    for (const char* const host : {"256MiB", "8MiB"}) {
      const Outcome preloaded = run_preloaded(command, with_host(host));
      EXPECT_EQ(preloaded.output, alone.output) << seed << ", " << host;
      EXPECT_EQ(preloaded.message, "") << seed;
    }
  }
}

TEST(PreloadHostMemory, FreedMemoryIsNotUsedAgainWhileQueuedWorkUsesIt) {
  expect_ok("./host_memory queued", with_host("256MiB", {{"TESSERA_SOFTWARE_BANDWIDTH", "100e6"}}));
}

TEST(PreloadHostMemory, AChildSharesItWithItsParent) { expect_ok("./host_memory fork", with_host("256MiB")); }

TEST(PreloadHostMemory, ItEndsWithItsContext) { expect_ok("./host_memory contexts", with_host("256MiB")); }

TEST(PreloadHostMemory, AllDevicesUseIt) {
  expect_ok("./host_memory devices",
            with_host("256MiB", {{"TESSERA_SOFTWARE_DEVICES", "2"}, {"TESSERA_SOFTWARE_BANDWIDTH", "100e6"}}));
}

TEST(PreloadHostMemory, StatisticsCountPinnedMemoryByItsServer) {
  const auto served = stats_of("./host_memory holds", with_host("256MiB"));
  EXPECT_EQ(served["host_blocks"]["host_blocks"], 1);
  EXPECT_EQ(served["host_blocks"]["host_block_bytes"], 3 << 20);
  EXPECT_GE(served["host"]["host_used"], 3 << 20);
  EXPECT_EQ(served["outside"]["driver_host_bytes"], 2 << 20) << "write-combined";
  EXPECT_EQ(served["outside"]["registered_bytes"], 1 << 20);
  EXPECT_EQ(served["outside_bytes_by_kind"]["managed"], 5 << 20);
  const auto left = stats_of("./host_memory holds", with_host("256MiB", {{"TESSERA_HOST_BLOCKS", "0"}}));
  EXPECT_EQ(left["host_blocks"]["host_blocks"], 0);
  EXPECT_EQ(left["outside"]["driver_host_bytes"], 5 << 20);
}

TEST(PreloadHostMemory, ARequestBeyondTheBudgetIsTheDrivers) {
  const auto stats = stats_of("./host_memory holds", with_host("4MiB"));
  EXPECT_EQ(stats["host_blocks"]["host_blocks"], 0);
  EXPECT_EQ(stats["outside"]["driver_host_bytes"], 5 << 20);
}

// 208 MiB can be pinned, of which the heap takes 128 or 192 for the blocks that do not fit; the call needs 96.
TEST(PreloadHostMemory, WhatTheHeapHasPinnedIsReturnedForACallThatIsRefused) {
  for (const std::string call : {"alloc", "allochost", "register"}) {
    const Outcome ran = run_preloaded("./host_memory refused " + call, on_small_device("208MiB"));
    EXPECT_EQ(ran.output, "ok\n") << call << ": " << ran.message;
    EXPECT_EQ(ran.message, "") << call;
  }
}

TEST(PreloadHostMemory, WhatCannotBePinnedAtAllIsRefused) {
  const Outcome ran = run_preloaded("./host_memory refused alloc", on_small_device("80MiB"));
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_NE(ran.message.find("cuMemHostAlloc(&host, bytes, 0): CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << ran.message;
}

TEST(PreloadHostMemory, MoreManagedMemoryThanTheDeviceIsReportedOnce) {
  const Outcome told =
      run_preloaded("./host_memory managed", with_host("64MiB", {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}}));
  EXPECT_EQ(told.output, "ok\n");
  EXPECT_THAT(told.message, MatchesRegex("tessera: the program has [^\n]* of device memory outside the heap[^\n]*"
                                         "GGML_CUDA_ENABLE_UNIFIED_MEMORY[^\n]*\n"));
  EXPECT_EQ(run_preloaded("./host_memory holds", with_host("64MiB")).message, "");
}

}  // namespace
}  // namespace tessera::programs
