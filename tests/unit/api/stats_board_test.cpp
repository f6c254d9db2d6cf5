#include "api/stats_board.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tessera {
namespace {

class StatsBoardTest : public ::testing::Test {
 protected:
  ~StatsBoardTest() override { std::filesystem::remove(path_); }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ =
      ::testing::TempDir() + "board_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<OutputFile> file_ = OutputFile::open(path_, OutputFile::Left::kReplace).take();
  StatsBoard board_{*file_};
};

TEST_F(StatsBoardTest, AnUpdateIsALineOfItsOwnAndTheText) {
  ASSERT_TRUE(board_.update("figures").is_ok());
  const std::string there = contents();
  ASSERT_GT(there.size(), StatsBoard::kPlace.value());
  const std::string first = there.substr(StatsBoard::kPlace.value());
  EXPECT_TRUE(first.starts_with("{\"tessera_board\":1,\"pid\":")) << first;
  EXPECT_TRUE(first.ends_with(",\"bytes\":7}\nfigures\n")) << first;
  EXPECT_EQ(there.find_first_not_of('\0'), StatsBoard::kPlace.value()) << "the other place is empty";
}

TEST_F(StatsBoardTest, IsDueOncePerPeriod) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(board_.falls_due());
  const bool again = board_.falls_due();
  if (std::chrono::steady_clock::now() - begin < StatsBoard::kBetween) {
    EXPECT_FALSE(again);
  }
}

TEST_F(StatsBoardTest, TooLongTextIsNotShown) {
  ASSERT_TRUE(board_.update(std::string(StatsBoard::kPlace.value(), 'x')).is_ok());
  EXPECT_EQ(contents(), "");
}

}  // namespace
}  // namespace tessera
