#include "control_token.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace {

class ControlTokenFile : public ::testing::Test {
 protected:
  void SetUp() override { ::unlink(path_.c_str()); }
  void TearDown() override { ::unlink(path_.c_str()); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }

  const std::string path_ = ::testing::TempDir() + "control_token_test";
};

TEST_F(ControlTokenFile, IsMadePrivateWithATokenOfItsOwn) {
  const ControlToken made = control_token(path_);
  EXPECT_EQ(made.problem, "");
  EXPECT_EQ(made.text.size(), 48U);
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(control_token(path_).text, made.text) << "it is kept";
  ::unlink(path_.c_str());
  EXPECT_NE(control_token(path_).text, made.text);
}

TEST_F(ControlTokenFile, WhatAUserWroteIsRead) {
  write("correct-horse-battery\n");
  EXPECT_EQ(control_token(path_).text, "correct-horse-battery");
}

TEST_F(ControlTokenFile, WeakAndReadableOnesAreRefused) {
  for (const char* const text : {"", "short", "two words of a token", "correct-horse\nbattery-staple"}) {
    write(text);
    EXPECT_EQ(control_token(path_).problem, path_ + ": is not one line of 16 to 256 visible characters") << text;
  }
  write(std::string(300, 'x'));
  EXPECT_NE(control_token(path_).problem, "");
  write("correct-horse-battery", 0640);
  EXPECT_EQ(control_token(path_).problem, path_ + ": others may read it (chmod 600)");
  EXPECT_EQ(control_token(path_).text, "");
}

TEST_F(ControlTokenFile, WhatIsNoPlainFileIsRefused) {
  EXPECT_NE(control_token(::testing::TempDir()).problem, "");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(control_token(path_).problem, path_ + ": is no plain file of this user");
  EXPECT_NE(control_token("/no/such/folder/token").problem, "");
}

}  // namespace
