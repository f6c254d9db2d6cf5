#include "recover_command.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "last_known_file.hpp"

namespace {

using ::testing::HasSubstr;

class Recover : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ + name, std::ios::binary) << contents;
    return folder_ + name;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ =
      ::testing::TempDir() + "recover_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
  std::string line_;
};

TEST_F(Recover, ReplacesTheFileByTheReport) {
  const std::string file = write("h.json", LastKnownFile().add(1, R"({"tessera_history":1})").contents);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(recover(file, "", line_), "");
  EXPECT_THAT(line_, HasSubstr("which was killed"));
  EXPECT_EQ(contents(file), R"({"tessera_history":1})");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(recover(file, "", line_), "");
  EXPECT_THAT(line_, HasSubstr("complete"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Recover, AFileInUseIsOnlyCopied) {
  const std::string file = write("l.json", LastKnownFile().add(1, "[1]").contents);
  const int held = ::open(file.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_THAT(recover(file, "", line_), HasSubstr("process 4194305 has not ended; give --out FILE"));
  EXPECT_EQ(recover(file, folder_ + "copy.json", line_), "");
  ::close(held);
  EXPECT_EQ(contents(folder_ + "copy.json"), "[1]");
  EXPECT_EQ(contents(file), LastKnownFile().add(1, "[1]").contents);
}

TEST_F(Recover, StatisticsAreATableUnlessTheNameIsOfJson) {
  const std::string contents_of = LastKnownFile().add(1, R"({"tessera":{"version":"1"}})").contents;
  const std::string table = write("stats.txt", contents_of), json = write("stats.json", contents_of);
  EXPECT_EQ(recover(table, "", line_), "");
  EXPECT_EQ(contents(table), "tessera\n  version 1\n");
  EXPECT_EQ(recover(json, "", line_), "");
  EXPECT_EQ(contents(json), R"({"tessera":{"version":"1"}})");
}

TEST_F(Recover, OtherFilesAreErrors) {
  EXPECT_EQ(recover(folder_ + "none", "", line_),
            "cannot read the file; `tessera run --stats FILE` writes one, and so do --history and --timeline");
  EXPECT_THAT(recover(write("empty", ""), "", line_), HasSubstr("empty"));
  EXPECT_EQ(recover(write("text", "hello"), "", line_),
            "no report: name a file of `tessera run --stats`, --history or --timeline");
  const std::string file = write("h.json", LastKnownFile().add(1, "[1]").contents);
  EXPECT_THAT(recover(file, "/no/such/folder/h.json", line_), HasSubstr("cannot write"));
}

}  // namespace
