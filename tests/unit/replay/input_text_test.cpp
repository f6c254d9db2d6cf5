#include "lab/replay/input_text.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace tessera {
namespace {

class InputTextTest : public ::testing::Test {
 protected:
  InputTextTest() : path_(::testing::TempDir() + "input_text." + std::to_string(::getpid())) {}
  ~InputTextTest() override { std::filesystem::remove(path_); }

  Result<InputText> read(std::string_view data) {
    std::ofstream(path_, std::ios::binary) << data;
    return read_input(path_);
  }
  std::string fault(std::string_view data) {
    const std::string message(read(data).status().message());
    EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
    return message.substr(std::min(message.size(), path_.size() + 2));
  }

  std::string path_;
};

TEST_F(InputTextTest, PlainTextIsReadAsItIs) {
  const auto input = read("one\ntwo");
  ASSERT_TRUE(input.is_ok());
  EXPECT_EQ(input.value().text, "one\ntwo");
  EXPECT_TRUE(input.value().notes.empty());
}

TEST_F(InputTextTest, NamesTheKindOfAnUnreadableInput) {
  EXPECT_EQ(fault(""), "the file is empty");
  EXPECT_EQ(fault("BZh91AY"), "this is compressed with bzip2; unpack it first: bunzip2");
  EXPECT_EQ(read_input("/no/such/file").status().code(), Code::kIo);
  EXPECT_EQ(read_input(::testing::TempDir()).status().code(), Code::kIo) << "a folder";
}

TEST_F(InputTextTest, APipeServesAsWell) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([this] {
    std::ofstream pipe(path_);
    pipe << std::string(300000, 'x') << "\n";
  });
  const auto input = read_input(path_);
  writer.join();
  ASSERT_TRUE(input.is_ok());
  EXPECT_EQ(input.value().text.size(), 300001u);
}

}  // namespace
}  // namespace tessera
