#include "observe/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Left = OutputFile::Left;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  static std::unique_ptr<OutputFile> open(const std::string& path, Left left = Left::kReplace) {
    auto file = OutputFile::open(path, left);
    EXPECT_TRUE(file.is_ok()) << file.status().to_string();
    return file.is_ok() ? file.take() : nullptr;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string own(int number = 0) const {
    return folder_ + "/a-" + std::to_string(::getpid()) + (number == 0 ? "" : "-" + std::to_string(number)) + ".json";
  }

  const std::string folder_ =
      ::testing::TempDir() + "output_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/a.json";
};

TEST_F(OutputFileTest, ReplacesTheFileOfAnEarlierRunAndItself) {
  std::ofstream(path_) << "of an earlier run, and longer";
  const auto file = open(path_);
  EXPECT_EQ(contents(path_), "");
  ASSERT_TRUE(file->replace("first, longer").is_ok());
  ASSERT_TRUE(file->replace("second").is_ok());
  EXPECT_EQ(contents(path_), "second");
}

TEST_F(OutputFileTest, ASecondProcessGetsItsOwnName) {
  const auto first = open(path_), second = open(path_), third = open(path_);
  EXPECT_EQ(first->path(), path_);
  EXPECT_EQ(second->path(), own());
  EXPECT_EQ(third->path(), own(2));
  ASSERT_TRUE(first->replace("first").is_ok());
  ASSERT_TRUE(second->replace("second").is_ok());
  EXPECT_EQ(contents(path_), "first");
  EXPECT_EQ(contents(own()), "second");
}

TEST_F(OutputFileTest, KeepsTheFileOfAnotherProcessOfTheRun) {
  { ASSERT_TRUE(open(path_, Left::kKeep)->replace("first").is_ok()); }
  const auto second = open(path_, Left::kKeep);
  EXPECT_EQ(second->path(), own());
  EXPECT_EQ(contents(path_), "first");
}

TEST_F(OutputFileTest, TakesTheExactNameOnRequest) {
  const auto first = open(path_);
  ASSERT_TRUE(first->replace("first, longer").is_ok());
  ASSERT_TRUE(open(path_, Left::kTake)->replace("taken").is_ok());
  EXPECT_EQ(contents(path_), "taken");
}

TEST_F(OutputFileTest, TheNumberComesBeforeTheEnding) {
  EXPECT_EQ(path_beside("run.json", "7"), "run-7.json");
  EXPECT_EQ(path_beside("/a.b/run", "7"), "/a.b/run-7");
  EXPECT_EQ(path_beside("/a/.hidden", "7"), "/a/.hidden-7");
  EXPECT_EQ(path_beside("/a/t.jsonl", "7-2"), "/a/t-7-2.jsonl");
}

TEST_F(OutputFileTest, OnlyTheOwnerMayReadIt) {
  const auto file = open(path_);
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0600u);
}

TEST_F(OutputFileTest, ALimitOnFileSizeIsAnErrorAndNoSignal) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  const auto file = open(path_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = file->replace(std::string(8192, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(written.code(), Code::kIo);
}

TEST_F(OutputFileTest, AFifoWaitsForALateReader) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = contents(path_); });
  {
    const auto file = open(path_);
    EXPECT_FALSE(file->is_regular());
    ASSERT_TRUE(file->append(std::string(200'000, 'x')).is_ok()) << "more than a pipe holds";
    ASSERT_TRUE(file->replace("y").is_ok());
  }
  reader.join();
  EXPECT_EQ(read, std::string(200'000, 'x') + "y");
}

TEST_F(OutputFileTest, AReaderThatHasGoneIsAnErrorAndNoSignal) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const auto file = open(path_);
  ASSERT_TRUE(file->append("heard").is_ok());
  ::close(reader);
  EXPECT_EQ(file->append("not heard").native_code(), EPIPE);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(OutputFileTest, ADescriptorContinuesAtItsPosition) {
  const int out = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(out, "before ", 7), 7);
  { ASSERT_TRUE(open("/dev/fd/" + std::to_string(out))->replace("report ").is_ok()); }
  ASSERT_EQ(::write(out, "after", 5), 5);
  ::close(out);
  EXPECT_EQ(contents(path_), "before report after");
}

TEST_F(OutputFileTest, NamesAPathThatCannotBeOpened) {
  const Status none = OutputFile::open("/no/such/folder/x", Left::kReplace).status();
  EXPECT_TRUE(none.message().starts_with("/no/such/folder/x: ")) << none.message();
  const Status folder = OutputFile::open(folder_, Left::kReplace).status();
  EXPECT_EQ(folder.code(), Code::kIo);
}

}  // namespace
}  // namespace tessera
