#include "observe/appended_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

namespace tessera {
namespace {

class AppendedFileTest : public ::testing::Test {
 protected:
  ~AppendedFileTest() override { ::unlink(path_.c_str()); }
  std::unique_ptr<AppendedFile> open() {
    auto file = AppendedFile::open(path_);
    EXPECT_TRUE(file.is_ok()) << file.status().to_string();
    return file.take();
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = ::testing::TempDir() + "appended_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AppendedFileTest, HasWhatWasAppendedAndZerosBehindItUntilItIsCut) {
  const auto file = open();
  ASSERT_TRUE(file->append("one ").is_ok());
  ASSERT_TRUE(file->append("two").is_ok());
  EXPECT_EQ(contents().substr(0, 8), std::string("one two\0", 8));
  EXPECT_EQ(contents().find_first_not_of('\0', 7), std::string::npos);
  ASSERT_TRUE(file->cut().is_ok());
  EXPECT_EQ(contents(), "one two");
  ASSERT_TRUE(file->append(" three").is_ok());
  ASSERT_TRUE(file->cut().is_ok());
  EXPECT_EQ(contents(), "one two three");
}

TEST_F(AppendedFileTest, IsWholeOverManyPiecesOfAnySize) {
  std::string expected;
  {
    const auto file = open();
    for (std::size_t bytes = 1; expected.size() < 3 * AppendedFile::kPiece; bytes = bytes * 5 / 2 + 1) {
      const std::string text(bytes, static_cast<char>('a' + bytes % 26));
      ASSERT_TRUE(file->append(text).is_ok());
      expected += text;
    }
    EXPECT_EQ(file->size(), Bytes(expected.size()));
  }
  EXPECT_EQ(contents(), expected);
}

TEST_F(AppendedFileTest, EndsExactlyWhereAPieceDoes) {
  const std::string text(AppendedFile::kPiece, 'x');
  { ASSERT_TRUE(open()->append(text).is_ok()); }
  EXPECT_EQ(contents(), text);
}

// A file that may not grow stands for a disk that is full.
TEST_F(AppendedFileTest, AFullDiskIsAnErrorAndNoSignalOfTheMapping) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{2 * AppendedFile::kPiece, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text(AppendedFile::kPiece, 'x');
  {
    const auto file = open();
    EXPECT_TRUE(file->append(text).is_ok());
    EXPECT_EQ(file->append("y").code(), Code::kIo);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(contents(), text);
}

TEST_F(AppendedFileTest, WhatCannotBeCreatedIsAnError) {
  EXPECT_EQ(AppendedFile::open("/no/such/folder/t").status().code(), Code::kIo);
}

}  // namespace
}  // namespace tessera
