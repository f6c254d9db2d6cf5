#include "api/outputs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hand_clock.hpp"

namespace tessera {
namespace {

class OutputsTest : public ::testing::Test {
 protected:
  ~OutputsTest() override { std::filesystem::remove(path_); }
  Options options() const {
    Options options;
    options.stats = path_;
    options.log_level = "quiet";
    return options;
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  HandClock clock_;
  const std::string path_ =
      ::testing::TempDir() + "outputs_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(OutputsTest, FinalFiguresReplaceTheLastKnown) {
  Outputs outputs(options(), clock_);
  ASSERT_TRUE(outputs.has_stats() && outputs.stats_are_json());
  EXPECT_FALSE(outputs.has_history() || outputs.has_timeline());
  outputs.keep_stats([] { return std::string("{\"a\":1}"); });
  EXPECT_NE(contents().find("{\"a\":1}"), std::string::npos);
  EXPECT_NE(contents().find("\"tessera_last_known\":1,"), std::string::npos);
  ASSERT_TRUE(outputs.write_stats("last").is_ok());
  clock_.set(std::uint64_t{1} << 40);
  outputs.keep_stats([] { return std::string("later"); });
  EXPECT_EQ(contents(), "last");
}

TEST_F(OutputsTest, AReportIsMadeLessOftenIfThatTakesLong) {
  Options options = this->options();
  options.history = options.stats;
  options.stats = "";
  Outputs outputs(options, clock_);
  constexpr std::uint64_t kMillisecond = 1'000'000;
  int made = 0;
  for (std::uint64_t ms = 0; ms < 100'000; ms += 250) {
    clock_.set(ms * kMillisecond);
    outputs.keep_stats([&] { return std::to_string(made += 1000); });
    outputs.keep_timeline([&] { return std::to_string(made += 1000); });
    outputs.keep_history([&] {
      clock_.set((ms + 50) * kMillisecond);  // it takes 50 ms
      return std::to_string(++made);
    });
  }
  EXPECT_EQ(made, 20) << "a hundredth of 100 s";
  EXPECT_NE(contents().find("\"tessera_last_known\":20,"), std::string::npos);
}

TEST_F(OutputsTest, SkipsAnOutputThatCannotBeOpened) {
  Options options = this->options();
  options.history = "/no/such/folder/h.json";
  Outputs outputs(options, clock_);
  EXPECT_TRUE(outputs.has_stats());
  EXPECT_FALSE(outputs.has_history());
}

TEST_F(OutputsTest, UnderARunAnExistingFileIsAnotherProcesss) {
  EXPECT_EQ(left_in("a.json", true), OutputFile::Left::kKeep);
  EXPECT_EQ(left_in("a-%p.json", true), OutputFile::Left::kReplace);
  EXPECT_EQ(left_in("a.json", false), OutputFile::Left::kReplace);
}

}  // namespace
}  // namespace tessera
