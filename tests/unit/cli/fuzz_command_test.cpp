#include "fuzz_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(FuzzCommand, SeedsAreOneOrARange) {
  std::uint64_t first = 0, last = 0;
  EXPECT_TRUE(parse_seeds("7", first, last));
  EXPECT_EQ(last, 7U);
  EXPECT_TRUE(parse_seeds("3..9", first, last));
  EXPECT_EQ(first, 3U);
  EXPECT_EQ(last, 9U);
  for (const char* const wrong : {"", "9..3", "..3", "3..", "a", "-1", "1..2..3"}) {
    EXPECT_FALSE(parse_seeds(wrong, first, last)) << wrong;
  }
}

TEST(FuzzCommand, AListOfOperationsIsShort) {
  EXPECT_EQ(kept_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(kept_text({}), "");
}

TEST(FuzzCommand, MinimisesAFailingList) {
  Numbers all;
  for (std::uint32_t i = 0; i < 100; ++i) all.push_back(i);
  const auto has = [](const Numbers& list, std::uint32_t n) {
    return std::find(list.begin(), list.end(), n) != list.end();
  };
  int asked = 0;
  const auto fails = [&](const Numbers& list) {
    ++asked;
    return has(list, 17) && has(list, 60) && has(list, 99);
  };
  EXPECT_EQ(minimise(all, 1000, fails), (Numbers{17, 60, 99}));
  EXPECT_LT(asked, 200);
  EXPECT_TRUE(fails(minimise(all, 3, fails))) << "also when it has to stop early";
}

TEST(FuzzCommand, ReadsTheResultOfAChild) {
  const FuzzOutcome good = in_child([] { return std::string(R"({"passed":true})"); }, 10);
  EXPECT_TRUE(good.passed) << good.failure;
  const FuzzOutcome bad = in_child([] { return std::string(R"({"passed":false,"failure":"wrong data"})"); }, 10);
  EXPECT_FALSE(bad.passed);
  EXPECT_EQ(bad.failure, "wrong data");
}

TEST(FuzzCommand, AChildThatCrashesOrHangsIsAFailure) {
  const FuzzOutcome crashed = in_child(
      []() -> std::string {
        std::signal(SIGTERM, SIG_DFL);
        std::raise(SIGTERM);
        return R"({"passed":true})";
      },
      10);
  EXPECT_FALSE(crashed.passed);
  EXPECT_NE(crashed.failure.find("crashed"), std::string::npos) << crashed.failure;
  const FuzzOutcome hung = in_child(
      []() -> std::string {
        for (;;) std::raise(SIGCONT);
      },
      1);
  EXPECT_FALSE(hung.passed);
  EXPECT_NE(hung.failure.find("timed out"), std::string::npos) << hung.failure;
}

TEST(FuzzCommand, PrintsOneObjectAndExitsWithTheResult) {
  FuzzOptions options;
  options.seeds = "1..2";
  options.operations = 20;
  options.json = true;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(fuzz_command(options), 0);
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(output.find(R"("seeds":2)"), std::string::npos) << output;
  options.seeds = "7";
  options.keep = "nonsense";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(fuzz_command(options), 1);
  EXPECT_TRUE(::testing::internal::GetCapturedStderr().starts_with("tessera: seed 7 failed: "));
  options.seeds = "x";
  EXPECT_EQ(fuzz_command(options), 2);
}

}  // namespace
