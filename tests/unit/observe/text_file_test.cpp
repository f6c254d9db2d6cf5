#include "observe/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tessera {
namespace {

std::string read_back(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(TextFile, ReplacesWhatWasThere) {
  const std::string path = ::testing::TempDir() + "text_file_test";
  ASSERT_TRUE(write_text_file(path, "a longer text").is_ok());
  ASSERT_TRUE(write_text_file(path, "short").is_ok());
  EXPECT_EQ(read_back(path), "short");
}

TEST(TextFile, OnlyTheOwnerMayReadIt) {
  const std::string path = ::testing::TempDir() + "text_file_mode_test";
  ::remove(path.c_str());
  ASSERT_TRUE(write_text_file(path, "x").is_ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(TextFile, APathMayHaveTheNumberOfTheProcess) {
  const std::string number = std::to_string(::getpid());
  EXPECT_EQ(path_of_process("%p/a-%p.json"), number + "/a-" + number + ".json");
  EXPECT_EQ(path_of_process("%%p%"), "%" + number + "%");
  EXPECT_EQ(path_of_process("100%.json"), "100%.json");
}

TEST(TextFile, AFullDiskIsAnErrorWithThePath) {
  const Status status = write_text_file("/dev/full", std::string(1 << 16, 'x'));
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_TRUE(status.message().starts_with("/dev/full: ")) << status.message();
}

TEST(TextFile, AMissingFolderIsAnError) { EXPECT_EQ(write_text_file("/no/such/folder/x", "x").code(), Code::kIo); }

}  // namespace
}  // namespace tessera
