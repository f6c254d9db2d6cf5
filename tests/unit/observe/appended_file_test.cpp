#include "observe/appended_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

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

  const std::string path_ =
      ::testing::TempDir() + "appended_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AppendedFileTest, HasWhatWasAppendedAndNothingElse) {
  const auto file = open();
  ASSERT_TRUE(file->append("one ").is_ok());
  ASSERT_TRUE(file->append("two").is_ok());
  EXPECT_EQ(contents(), "one two");
  ASSERT_TRUE(file->append(" three").is_ok());
  EXPECT_EQ(contents(), "one two three");
  EXPECT_EQ(file->size(), 13_B);
}

TEST_F(AppendedFileTest, ATruncationLeavesNoHoleAndKillsNoProcess) {
  const auto file = open();
  ASSERT_TRUE(file->append(std::string(1 << 20, 'x')).is_ok());
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  ASSERT_TRUE(file->append("later").is_ok());
  EXPECT_EQ(contents(), "later");
}

// A file size limit stands in for a full disk; unhandled, it is a signal that ends the process.
TEST_F(AppendedFileTest, AFullDiskIsAnErrorAndNoSignal) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{8192, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    const auto file = open();
    EXPECT_TRUE(file->append(std::string(8192, 'x')).is_ok());
    EXPECT_EQ(file->append("y").code(), Code::kIo);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(contents(), std::string(8192, 'x'));
}

TEST_F(AppendedFileTest, AFileThatCannotBeCreatedIsAnError) {
  EXPECT_EQ(AppendedFile::open("/no/such/folder/t").status().code(), Code::kIo);
}

}  // namespace
}  // namespace tessera
