// Kernels that wait for the program's next action: no call that needs room waits for them.
#include <gtest/gtest.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

Outcome run_way(const std::string& way, const std::string& milliseconds) {
  const std::string command = "./waiting_kernels waiting_kernels.so " + way;
  return run_preloaded(command, {{"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                                 {"TESSERA_DEVICE_MEMORY", "34MiB"},
                                 {"TESSERA_SOFTWARE_DEVICES", "2"},
                                 {"TESSERA_HOST_MEMORY", "256MiB"},
                                 {"TESSERA_PATIENCE", milliseconds}});
}

// The program also continues without Tessera.
void expect_to_go_on(const std::string& way) {
  EXPECT_EQ(run("./waiting_kernels waiting_kernels.so " + way, {{"TESSERA_SOFTWARE_DEVICES", "2"}}).output, "ok\n");
  const Outcome ran = run_way(way, "200");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  EXPECT_EQ(ran.message, "");
}

TEST(WaitingKernels, EvictsBlocksOfAStreamTheProgramWaitedFor) {
  expect_to_go_on("stream");
  expect_to_go_on("query");
}

TEST(WaitingKernels, EvictsBlocksBehindAnEventTheProgramWaitedFor) {
  expect_to_go_on("event");
  expect_to_go_on("event_query");
}

TEST(WaitingKernels, EvictsBlocksOfAContextTheProgramWaitedFor) { expect_to_go_on("context"); }

TEST(WaitingKernels, EvictsBlocksACopyWaitedFor) { expect_to_go_on("copy"); }

TEST(WaitingKernels, TheDefaultStreamMayWaitForThem) { expect_to_go_on("held"); }

TEST(WaitingKernels, TwoWaitingKernelsMeetDespiteCallsBetweenTheirLaunches) { expect_to_go_on("meet"); }

TEST(WaitingKernels, RecordsNoFenceOnAFullStream) { expect_to_go_on("deep"); }

// No event covers these copies and frees, so the host waits for them.
TEST(WaitingKernels, CopiesToAnotherDeviceMayBeQueuedBehindOne) { expect_to_go_on("across"); }

// Nor the work of green contexts.
TEST(WaitingKernels, AGreenContextMayWait) { expect_to_go_on("green"); }

TEST(WaitingKernels, NothingEvictableIsOutOfMemoryWithACause) {
  const Outcome ran = run_way("unknown", "50");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
  EXPECT_NE(ran.message.find("a kernel may be waiting for the program"), std::string::npos) << ran.message;
}

TEST(WaitingKernels, ALaunchThatDoesNotReturnBlocksNoOtherCall) {
  const Outcome ran = run_way("inside", "20");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
}

// The blocks are to be unmapped when other work has ended.
TEST(WaitingKernels, ABlockBeingEvictedMayStayDuringAnUnreturnedLaunch) {
  const Outcome ran = run_way("leaving", "100");
  EXPECT_EQ(ran.output, "ok\n") << ran.message;
}

}  // namespace
}  // namespace tessera::programs
