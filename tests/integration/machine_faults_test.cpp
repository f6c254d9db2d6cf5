// Machines without certain features, and disks that fill up: a program under Tessera computes the same, or gets CUDA's
// error for the problem, and one line reports what is missing.
#include <gtest/gtest.h>

#include <algorithm>

#include "private_mount.hpp"
#include "program_run.hpp"

namespace tessera::programs {
namespace {

const std::string kTrain = "./train --kernels train_kernels.so --steps 3 --layers 8 --width 512 --batch 128";

Environment small_device(Environment more) {
  more.try_emplace("TESSERA_SOFTWARE_MEMORY", "20MiB");
  more.try_emplace("TESSERA_FILE_DIR", "/var/tmp");
  return more;
}

class MachineFaults : public ::testing::Test {
 protected:
  // The losses of a run on a device with room for everything: every other run must compute the same.
  static const std::string& losses() {
    static const std::string of_ample_run = [] {
      const std::string file = scratch("ample");
      const Outcome ample = run(kTrain + " --losses " + file);
      EXPECT_EQ(ample.exit_code, 0) << ample.message;
      return contents(file);
    }();
    return of_ample_run;
  }

  // Runs the program on a device too small for it; `wrapper` is a command prefix.
  Outcome train(const Environment& environment, const std::string& wrapper = "") {
    file_ = scratch("losses");
    return run_preloaded(wrapper + kTrain + " --losses " + file_, small_device(environment));
  }
  void expect_same_losses(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
    EXPECT_NE(losses(), "");
    EXPECT_EQ(contents(file_), losses());
  }
  static long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

 private:
  std::string file_;
};

TEST_F(MachineFaults, WithoutAHostBudgetUsesTheFile) {
  expect_same_losses(train({{"TESSERA_HOST_MEMORY", "0"}, {"TESSERA_FILE_MEMORY", "256MiB"}}));
}

TEST_F(MachineFaults, AnUnwritableDirectoryIsOneLineWhenTheHostHasRoom) {
  const Outcome outcome = train({{"TESSERA_HOST_MEMORY", "256MiB"},
                                 {"TESSERA_FILE_MEMORY", "256MiB"},
                                 {"TESSERA_FILE_DIR", "/proc/no/such/directory"}});
  expect_same_losses(outcome);
  EXPECT_EQ(lines(outcome.message), 1) << outcome.message;
  EXPECT_NE(outcome.message.find("/proc/no/such/directory"), std::string::npos) << outcome.message;
}

TEST_F(MachineFaults, WithoutHostAndFileIsOutOfMemoryWithAdvice) {
  const Outcome outcome = train({{"TESSERA_HOST_MEMORY", "0"}, {"TESSERA_FILE_MEMORY", "0"}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("--host-memory"), std::string::npos) << outcome.message;
}

TEST_F(MachineFaults, AFullDiskNeverCausesWrongLosses) {
  const InMount result = in_private_mount("tmpfs", "size=16m", [this](const std::string& directory) {
    const Outcome outcome =
        train({{"TESSERA_HOST_MEMORY", "8MiB"}, {"TESSERA_FILE_MEMORY", "256MiB"}, {"TESSERA_FILE_DIR", directory}});
    if (outcome.exit_code == 0) {
      expect_same_losses(outcome);
    } else {
      EXPECT_EQ(outcome.exit_code, 1) << outcome.message;
      EXPECT_NE(outcome.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << outcome.message;
    }
    return !HasFailure();
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "this machine lets no test mount a disk";
  EXPECT_EQ(result, InMount::kPassed);
}

TEST_F(MachineFaults, AMemlockLimitOfZeroCostsAtMostTheRing) {
  const Outcome outcome = train({{"TESSERA_HOST_MEMORY", "256MiB"}, {"TESSERA_FILE_MEMORY", "256MiB"}},
                                "setpriv --bounding-set=-ipc_lock prlimit --memlock=0:0 ");
  expect_same_losses(outcome);
  // Newer kernels may not count the ring's memory against the limit: then nothing is printed.
  if (!outcome.message.empty()) {
    EXPECT_EQ(lines(outcome.message), 1) << outcome.message;
    EXPECT_NE(outcome.message.find("using threads for file I/O"), std::string::npos) << outcome.message;
  }
}

TEST_F(MachineFaults, StreamsMayEndBeforeTheirWork) {
  const Outcome outcome = run_preloaded("./short_streams", small_device({{"TESSERA_HOST_MEMORY", "128MiB"}}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
  EXPECT_EQ(outcome.output, "ok\n");
}

}  // namespace
}  // namespace tessera::programs
