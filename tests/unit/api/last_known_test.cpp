#include "api/last_known.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

class LastKnownTest : public ::testing::Test {
 protected:
  ~LastKnownTest() override { std::filesystem::remove(path_); }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The text that line 0 or 1 names.
  std::string text_of(std::size_t line) const {
    const std::string whole = contents();
    const auto head = nlohmann::json::parse(whole.substr(line * LastKnown::kLine.value(), LastKnown::kLine.value()));
    return whole.substr(head["at"].get<std::size_t>(), head["bytes"].get<std::size_t>());
  }

  const std::string path_ =
      ::testing::TempDir() + "last_known_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<OutputFile> file_ = OutputFile::open(path_, OutputFile::Left::kReplace).take();
  LastKnown known_{*file_};
};

TEST_F(LastKnownTest, AnUpdateIsALineAndTheTextThatItNames) {
  ASSERT_TRUE(known_.update("figures").is_ok());
  const std::string whole = contents();
  const std::string line = whole.substr(LastKnown::kLine.value(), LastKnown::kLine.value());
  EXPECT_TRUE(line.starts_with("{\"tessera_last_known\":1,\"pid\":")) << line;
  EXPECT_TRUE(line.ends_with(" \n")) << line;
  EXPECT_EQ(text_of(1), "figures");
  EXPECT_EQ(whole.find_first_not_of('\0'), LastKnown::kLine.value()) << "the other line is empty";
}

// A process can die between any two writes: what the newest line names must still be there.
TEST_F(LastKnownTest, TheNewestTextStaysWhileTheNextIsWritten) {
  std::string before;
  const std::size_t sizes[] = {100, 5000, 80, 7000, 12'000, 1, 3000, 12'100, 12'100, 12'100, 9000, 40'000, 2};
  std::size_t number = 0;
  for (const std::size_t size : sizes) {
    const std::string text(size, static_cast<char>('a' + static_cast<int>(number)));
    ASSERT_TRUE(known_.update(text).is_ok());
    ++number;
    EXPECT_EQ(text_of(number % 2), text);
    if (number > 1) {
      EXPECT_EQ(text_of((number - 1) % 2), before) << "overwritten by update " << number;
    }
    before = text;
  }
}

TEST_F(LastKnownTest, TheFileHoldsAtMostThreeTexts) {
  const std::size_t most = 50'000;
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(known_.update(std::string(most - i * 7919 % most, 'x')).is_ok());
  }
  EXPECT_LE(contents().size(), LastKnown::kTexts.value() + 3 * most);
}

TEST_F(LastKnownTest, UpdatesTakeOnePartInAHundredOfTheTime) {
  EXPECT_TRUE(known_.is_due(Nanoseconds()));
  known_.wait_after(Nanoseconds(1'000), Nanoseconds(2'000));
  EXPECT_FALSE(known_.is_due(LastKnown::kBetween));
  EXPECT_TRUE(known_.is_due(Nanoseconds(2'000) + LastKnown::kBetween));
  const Nanoseconds began(5'000'000'000), ended = began + Nanoseconds(300'000'000);
  known_.wait_after(began, ended);
  EXPECT_FALSE(known_.is_due(ended + Nanoseconds(29'999'999'999)));
  EXPECT_TRUE(known_.is_due(ended + Nanoseconds(30'000'000'000)));
}

TEST_F(LastKnownTest, TooLongTextIsNotStored) {
  ASSERT_TRUE(known_.update(std::string(LastKnown::kMost.value() + 1, 'x')).is_ok());
  EXPECT_EQ(contents(), "");
}

}  // namespace
}  // namespace tessera
