// Kernels that wait for what the program does next: no call that needs room waits for them.
#include <gtest/gtest.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

Outcome run_way(const std::string& way, const std::string& milliseconds) {
  const std::string command = "./waiting_kernels waiting_kernels.so " + way;
  return run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                                 {"TESSERA_DEVICE_MEMORY", "34MiB"},
                                 {"TESSERA_HOST_MEMORY", "256MiB"},
                                 {"TESSERA_PATIENCE", milliseconds}});
}

class WaitingKernels : public ::testing::TestWithParam<const char*> {};

// Without the device's memory it is the program's own affair.
TEST_P(WaitingKernels, LetTheProgramGoOn) {
  EXPECT_EQ(run(std::string("./waiting_kernels waiting_kernels.so ") + GetParam(), {}).output, "ok\n");
  const Outcome ran = run_way(GetParam(), "200");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  EXPECT_EQ(ran.message, "");
}

INSTANTIATE_TEST_SUITE_P(WhoseBlocksWereWaitedFor, WaitingKernels,
                         ::testing::Values("stream", "query", "event", "event_query", "context", "copy", "held", "meet",
                                           "deep"),
                         [](const auto& way) { return std::string(way.param); });

TEST(WaitingKernelsLimits, WhereNothingCanLeaveItIsOutOfMemoryAndALineNamesTheCause) {
  const Outcome ran = run_way("unknown", "50");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  EXPECT_NE(ran.message.find("a kernel may wait for the program"), std::string::npos) << ran.message;
}

}  // namespace
}  // namespace tessera::programs
