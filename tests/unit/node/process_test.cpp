#include "node/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

namespace tessera {
namespace {

// A folder with the files of /proc that are read.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() { std::filesystem::create_directories(root_ + "proc/self"); }
  ~ProcessTest() override { std::filesystem::remove_all(root_); }

  void write_stat(const std::string& pid, const std::string& name, char state, int threads, std::uint64_t started) {
    std::filesystem::create_directories(root_ + "proc/" + pid);
    std::ofstream(root_ + "proc/" + pid + "/stat")
        << fmt::format("{} ({}) {} 1 1 1 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 {} 0 {} 1000 10 18446744073709551615\n", pid,
                       name, state, threads, started);
  }
  Life life(std::int32_t pid, std::uint64_t started, std::uint64_t pid_namespace = 9) {
    return life_of({pid, started, pid_namespace}, {1, 1, 9}, root_);
  }

  const std::string root_ = ::testing::TempDir() + fmt::format("process_test_{}/", ::getpid());
};

TEST_F(ProcessTest, KnowsThisProcess) {
  const ProcessId self = this_process();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_NE(self.started, 0U);
  EXPECT_EQ(self, this_process());
  EXPECT_EQ(life_of(self, self), Life::kAlive);
}

TEST_F(ProcessTest, AnotherStartTimeIsAnotherProcess) {
  write_stat("self", "x", 'R', 1, 1);
  write_stat("77", "python3", 'S', 4, 500);
  EXPECT_EQ(life(77, 500), Life::kAlive);
  EXPECT_EQ(life(77, 499), Life::kDead);
  EXPECT_EQ(life(78, 500), Life::kDead);
}

TEST_F(ProcessTest, NamesMayContainParenthesesAndSpaces) {
  write_stat("self", "x", 'R', 1, 1);
  write_stat("77", "a) R 1 (b) 2", 'S', 1, 500);
  EXPECT_EQ(life(77, 500), Life::kAlive);
  EXPECT_EQ(life(77, 501), Life::kDead);
}

TEST_F(ProcessTest, AnEndedProcessIsDeadBeforeItWasWaitedFor) {
  write_stat("self", "x", 'R', 1, 1);
  write_stat("77", "x", 'Z', 1, 500);
  EXPECT_EQ(life(77, 500), Life::kDead);
  write_stat("77", "x", 'Z', 3, 500);
  EXPECT_EQ(life(77, 500), Life::kAlive) << "only its main thread has ended";
  write_stat("77", "x", 'T', 1, 500);
  EXPECT_EQ(life(77, 500), Life::kAlive) << "it is stopped";
}

TEST_F(ProcessTest, WhatCannotBeReadIsUnknown) {
  EXPECT_EQ(life(77, 500), Life::kUnknown) << "no /proc";
  write_stat("self", "x", 'R', 1, 1);
  EXPECT_EQ(life(77, 500, 10), Life::kUnknown) << "another namespace";
  std::filesystem::create_directories(root_ + "proc/77");
  std::ofstream(root_ + "proc/77/stat") << "77 (x";
  EXPECT_EQ(life(77, 500), Life::kDead) << "that is no process";
}

TEST_F(ProcessTest, AChildIsAliveUntilItIsKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  // The child as it sees itself: the start time is the kernel's.
  std::ifstream file(fmt::format("/proc/{}/stat", child));
  std::string word;
  for (int field = 0; field < 22; ++field) file >> word;
  const ProcessId process{child, std::stoull(word), this_process().pid_namespace};
  EXPECT_EQ(life_of(process, this_process()), Life::kAlive);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(life_of(process, this_process()), Life::kDead) << "not waited for yet";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(life_of(process, this_process()), Life::kDead);
}

}  // namespace
}  // namespace tessera
