#include "training.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Training, TheLastLivePeakOfTheOutputCounts) {
  EXPECT_EQ(live_peak_in("live peak 5 bytes\nstep 1\nlive peak 374341632 bytes (357 MiB)\n"), 374341632u);
  EXPECT_EQ(live_peak_in("nothing of the kind"), 0u);
  EXPECT_EQ(live_peak_in("live peak: unknown"), 0u);
}

TEST(Training, TheTimeOfAStepIsRead) {
  EXPECT_DOUBLE_EQ(step_seconds_in("live peak 5 bytes\n0.7215 seconds per step\n"), 0.7215);
  EXPECT_DOUBLE_EQ(step_seconds_in("12 seconds"), 0);
  EXPECT_DOUBLE_EQ(step_seconds_in(" seconds per step"), 0);
}

TEST(Training, TheFirstCudaErrorIsFound) {
  EXPECT_EQ(cuda_error_in("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"), "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuda_error_in("ends in CUDA_ERROR_NO_DEVICE"), "CUDA_ERROR_NO_DEVICE");
  EXPECT_EQ(cuda_error_in("all is well"), "");
}

TEST(Training, OptionsThatAreNotGivenAreTheProgramsOwn) {
  const Training plain{"train", "kernels.so", 0};
  EXPECT_EQ(plain.command("l"), (std::vector<std::string>{"train", "--kernels", "kernels.so", "--losses", "l"}));
  const Training full{"train", "kernels.so", 3};
  EXPECT_EQ(full.command("l", 7).size(), 9u);
}

}  // namespace
