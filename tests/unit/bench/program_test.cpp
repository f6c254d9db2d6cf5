#include "program.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/check.hpp"

namespace tessera::bench {
namespace {

struct Ran {
  int outcome;
  bool measured;
  std::string said;
};

// Runs a benchmark with these arguments, as built with or without assertions.
Ran run(bool is_measurable, std::vector<std::string> words) {
  words.insert(words.begin(), "some_bench");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  bool measured = false;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int outcome =
      run_program(static_cast<int>(arguments.size()), arguments.data(),
                  {"a benchmark", "a few", "/", "", is_measurable}, [&](bool) -> std::optional<Results> {
                    measured = true;
                    return Results{nlohmann::ordered_json::object(), [] {}};
                  });
  testing::internal::GetCapturedStdout();
  return {outcome, measured, testing::internal::GetCapturedStderr()};
}

TEST(BenchmarkProgramTest, NothingIsTimedWhereTimesMeanNothing) {
  const Ran ran = run(false, {});
  EXPECT_FALSE(ran.measured);
  EXPECT_EQ(ran.outcome, EXIT_FAILURE);
  EXPECT_NE(ran.said.find("its times are meaningless"), std::string::npos) << ran.said;
}

TEST(BenchmarkProgramTest, InAnOptimisedBuildItIs) {
  const Ran ran = run(true, {});
  EXPECT_TRUE(ran.measured);
  EXPECT_EQ(ran.outcome, EXIT_SUCCESS) << ran.said;
}

TEST(BenchmarkProgramTest, ReadsTheBuildType) { EXPECT_EQ(Program{}.is_measurable, kIsMeasurable); }

TEST(BenchmarkProgramTest, ASmokeRunTimesNothingAndIsDoneInEveryBuild) {
  const Ran ran = run(false, {"--smoke"});
  EXPECT_TRUE(ran.measured);
  EXPECT_EQ(ran.outcome, EXIT_SUCCESS) << ran.said;
}

}  // namespace
}  // namespace tessera::bench
