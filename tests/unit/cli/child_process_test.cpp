#include "child_process.hpp"

#include <gtest/gtest.h>

namespace {

Finished shell(const std::string& script) {
  ChildEnvironment environment;
  environment.set("CHILD_PROCESS_TEST", "seen");
  return run_to_end({"sh", "-c", script}, environment);
}

TEST(ChildProcess, KeepsBothOutputsAndTheExitCode) {
  const Finished finished = shell("echo out; echo err >&2; echo $CHILD_PROCESS_TEST; exit 7");
  EXPECT_EQ(finished.output, "out\nerr\nseen\n");
  EXPECT_EQ(finished.exit_code, 7);
  EXPECT_FALSE(finished.well());
}

TEST(ChildProcess, ReportsASignal) { EXPECT_EQ(shell("kill -9 $$").exit_code, 128 + 9); }

TEST(ChildProcess, OnlyTheEndOfALongOutputIsKept) {
  const Finished finished = shell("head -c 5000000 /dev/zero; echo end");
  EXPECT_TRUE(finished.well());
  EXPECT_LT(finished.output.size(), 1u << 20);
  EXPECT_TRUE(finished.output.ends_with("end\n"));
}

TEST(ChildProcess, AProgramThatIsNotThereIsExitCode127) {
  ChildEnvironment environment;
  const Finished finished = run_to_end({"/no/such/program"}, environment);
  EXPECT_EQ(finished.exit_code, 127);
  EXPECT_EQ(finished.output, "No such file or directory");
}

}  // namespace
