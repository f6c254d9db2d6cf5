// Programs under the preload library that use one device together: real processes on a software device that they share.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

class SharedDeviceTest : public ::testing::Test {
 protected:
  // A program with pipes to it and from it; its errors go to a file.
  struct Program {
    pid_t pid = -1;
    int to = -1, from = -1;
    std::string errors;
  };

  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  }
  ~SharedDeviceTest() override {
    for (Program& program : programs_) {
      ::close(program.from);
      if (program.to >= 0) ::close(program.to);
      if (program.pid < 0) continue;
      ::kill(program.pid, SIGKILL);
      ::waitpid(program.pid, nullptr, 0);
    }
    std::filesystem::remove(fmt::format("/dev/shm/tessera-softcuda-{}-{}", ::geteuid(), name_));
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/dev/shm/tessera-{}", ::geteuid()), ignored)) {
      if (entry.path().filename().string().starts_with(name_)) std::filesystem::remove(entry.path(), ignored);
    }
  }

  // The device has 64 MiB.
  std::size_t start(const std::vector<std::string>& arguments, const Environment& more = {}) {
    int to[2], from[2];
    Program program;
    program.errors = scratch(fmt::format("stderr{}", programs_.size()));
    EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
    program.pid = ::fork();
    if (program.pid == 0) {
      const std::string build = TESSERA_TEST_BUILD_DIR;
      Environment all = {{"LD_LIBRARY_PATH", build + "/lib/softcuda"},
                         {"LD_PRELOAD", build + "/lib/libtessera_preload.so"},
                         {"TESSERA_PATIENCE", "60000"},
                         {"TESSERA_SOFTWARE_SHARED", name_},
                         {"TESSERA_SOFTWARE_MEMORY", "64MiB"},
                         {"TESSERA_NODE", name_},
                         {"TESSERA_NODE_HOST_MEMORY", "1GiB"},
                         {"TESSERA_TIME_SLICE", "200"}};
      for (const auto& [name, value] : more) all[name] = value;
      for (const auto& [name, value] : all) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> words;
      for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      const bool ready = ::chdir((build + "/lib/tessera").c_str()) == 0 && ::dup2(to[0], STDIN_FILENO) >= 0 &&
                         ::dup2(from[1], STDOUT_FILENO) >= 0 &&
                         std::freopen(program.errors.c_str(), "w", stderr) != nullptr;
      if (ready) ::execv(words.front(), words.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    program.to = to[1];
    program.from = from[0];
    programs_.push_back(program);
    return programs_.size() - 1;
  }
  // What the program prints, up to the end of a line.
  std::string line(std::size_t index) {
    std::string text;
    for (char c = 0; ::read(programs_[index].from, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  void go_on(std::size_t index) {
    ::close(programs_[index].to);
    programs_[index].to = -1;
  }
  void expect_success(std::size_t index) {
    int status = 0;
    EXPECT_EQ(::waitpid(programs_[index].pid, &status, 0), programs_[index].pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << ": " << contents(programs_[index].errors);
    EXPECT_EQ(contents(programs_[index].errors), "");
    programs_[index].pid = -1;
  }
  void kill(std::size_t index) {
    ::kill(programs_[index].pid, SIGKILL);
    EXPECT_EQ(::waitpid(programs_[index].pid, nullptr, 0), programs_[index].pid);
    programs_[index].pid = -1;
  }

  const std::string name_ = fmt::format("shared-device-test-{}", ::getpid());
  std::vector<Program> programs_;
};

TEST_F(SharedDeviceTest, AnIdleProgramGivesWay) {
  const std::size_t idle = start({"./sharing", "60", "2", "1", "wait"});
  ASSERT_EQ(line(idle), "idle") << contents(programs_[idle].errors);
  expect_success(start({"./sharing", "52", "3", "1"}));
  go_on(idle);
  expect_success(idle);
}

// Each needs most of the device, so that they have it in turns.
TEST_F(SharedDeviceTest, ProgramsThatUseMoreThanTheDeviceHaveItInTurns) {
  const std::size_t first = start({"./sharing", "48", "15", "2"});
  const std::size_t second = start({"./sharing", "52", "15", "2"});
  const std::size_t third = start({"./sharing", "40", "15", "2"});
  expect_success(first);
  expect_success(second);
  expect_success(third);
}

TEST_F(SharedDeviceTest, WithoutTimeSlicesEachKeepsToItsShare) {
  const std::size_t first = start({"./sharing", "48", "8", "2"}, {{"TESSERA_TIME_SLICE", "0"}});
  const std::size_t second = start({"./sharing", "52", "8", "2"}, {{"TESSERA_TIME_SLICE", "0"}});
  expect_success(first);
  expect_success(second);
}

// It would run for minutes.
TEST_F(SharedDeviceTest, TheTurnOfAProgramThatIsKilledIsOver) {
  const std::size_t killed = start({"./sharing", "48", "1000000", "1"}, {{"TESSERA_TIME_SLICE", "60000"}});
  const std::size_t other = start({"./sharing", "52", "3", "1", "wait"});
  kill(killed);
  ASSERT_EQ(line(other), "idle") << contents(programs_[other].errors);
  go_on(other);
  expect_success(other);
}

}  // namespace
}  // namespace tessera::programs
