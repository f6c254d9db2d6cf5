#include "api/outputs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

  const std::string path_ =
      ::testing::TempDir() + "outputs_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(OutputsTest, FinalFiguresReplaceTheLastKnown) {
  Outputs outputs(options());
  ASSERT_TRUE(outputs.has_stats() && outputs.stats_are_json());
  EXPECT_FALSE(outputs.has_history() || outputs.has_timeline());
  ASSERT_TRUE(outputs.keep_stats([] { return std::string("{\"a\":1}"); }).is_ok());
  EXPECT_NE(contents().find("{\"a\":1}"), std::string::npos);
  EXPECT_NE(contents().find("\"tessera_board\":1,"), std::string::npos);
  ASSERT_TRUE(outputs.write_stats("last").is_ok());
  ASSERT_TRUE(outputs.keep_stats([] { return std::string("later"); }).is_ok());
  EXPECT_EQ(contents(), "last");
}

TEST_F(OutputsTest, FiguresAreCollectedOnceASecondAtMost) {
  Outputs outputs(options());
  int asked = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(outputs.keep_stats([&] { return std::to_string(++asked); }).is_ok());
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LE(asked, 1 + seconds);
  EXPECT_GE(asked, 1);
}

TEST_F(OutputsTest, SkipsAnOutputThatCannotBeOpened) {
  Options options = this->options();
  options.history = "/no/such/folder/h.json";
  Outputs outputs(options);
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
