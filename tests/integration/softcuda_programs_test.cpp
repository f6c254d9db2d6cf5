// Programs unaware of Tessera, run on the software device as by a user.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;
};

// Runs in a shell, on the software device. `environment` is "NAME=value ..." or empty.
Outcome run(const std::string& command, const std::string& environment = "") {
  const std::string build = TESSERA_TEST_BUILD_DIR;
  const std::string line = "cd " + build + "/lib/tessera && LD_LIBRARY_PATH=" + build + "/lib/softcuda " + environment +
                           " ./" + command + " 2>&1";
  Outcome result;
  FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (std::size_t got; (got = ::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    result.output.append(buffer, got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::string kSmall = "train --kernels train_kernels.so --layers 3 --width 128 --batch 32 ";

TEST(SoftcudaPrograms, TheSmallestProgramAdds) {
  const Outcome added = run("vector_add vector_add_kernels.so");
  EXPECT_EQ(added.exit_code, 0);
  EXPECT_EQ(added.output, "ok\n");
}

TEST(SoftcudaPrograms, GraphsOfEveryOriginRun) {
  const Outcome launched = run("graphs preload_kernels.so");
  EXPECT_EQ(launched.exit_code, 0);
  EXPECT_EQ(launched.output, "ok\n");
}

TEST(SoftcudaPrograms, MisuseGetsTheAnswersOfCuda) {
  const Outcome misused = run("misuse");
  EXPECT_EQ(misused.exit_code, 0);
  EXPECT_EQ(misused.output, contents(std::string(TESSERA_TEST_SOURCE_DIR) + "/tests/golden/misuse.txt"));
}

TEST(SoftcudaPrograms, TrainingRepeatsBitByBitAndLearns) {
  const std::string first = ::testing::TempDir() + "/softcuda-losses-1";
  const std::string second = ::testing::TempDir() + "/softcuda-losses-2";
  const Outcome one = run(kSmall + "--steps 40 --losses " + first);
  const Outcome two = run(kSmall + "--steps 40 --losses " + second, "TESSERA_SOFTWARE_BANDWIDTH=1e9");
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_EQ(two.exit_code, 0) << two.output;
  const std::string losses = contents(first);
  EXPECT_EQ(losses, contents(second));
  std::istringstream lines(losses);
  std::string begin, end;
  lines >> begin;
  for (std::string line; lines >> line;) end = line;
  EXPECT_LT(std::stod(end), std::stod(begin));
  EXPECT_NE(one.output.find("live peak "), std::string::npos);
}

TEST(SoftcudaPrograms, TrainingNamesTheErrorWhenMemoryRunsOut) {
  const Outcome out = run(kSmall + "--layers 12 --steps 1", "TESSERA_SOFTWARE_MEMORY=2MiB");
  EXPECT_EQ(out.exit_code, 1);
  EXPECT_NE(out.output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << out.output;
  const Outcome occupied = run(kSmall + "--steps 1 --occupy 67108864", "TESSERA_SOFTWARE_MEMORY=64MiB");
  EXPECT_NE(occupied.output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << occupied.output;
}

TEST(SoftcudaPrograms, TrainingRefusesInvalidOptions) {
  EXPECT_EQ(run("train --kernels train_kernels.so --width 33").exit_code, 2);
  EXPECT_EQ(run("train --kernels nothing.so").exit_code, 2);
  EXPECT_EQ(run("train").exit_code, 2);
}

}  // namespace
