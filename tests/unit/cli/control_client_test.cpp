#include "control_client.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace {

// A program with the socket of process 77 that answers one request.
class ControlClient : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "control_client";
    std::filesystem::create_directories(folder_ + "/tessera");
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    listen_at(folder_ + "/tessera/77.sock");
  }
  void listen_at(const std::string& path) {
    path_ = path;
    ::unlink(path_.c_str());
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    ASSERT_EQ(::listen(listener_, 1), 0);
  }
  void TearDown() override {
    if (program_.joinable()) program_.join();
    close_listener();
    ::unsetenv("XDG_RUNTIME_DIR");
    std::filesystem::remove_all(folder_);
  }
  void close_listener() {
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
  }
  void answer_with(const std::string& reply) {
    program_ = std::thread([this, reply] {
      const int peer = ::accept(listener_, nullptr, nullptr);
      char request[64];
      const auto got = ::recv(peer, request, sizeof(request), 0);
      if (got > 0) request_.assign(request, static_cast<std::size_t>(got));
      (void)::send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
      ::close(peer);
    });
  }

  // A process in the folder, stopped: one that is still becoming another program has no variables for a moment.
  pid_t stopped_program_with(const std::string& variable) const {
    const char* const arguments[] = {"sh", "-c", "cd \"$0\" && kill -STOP $$", folder_.c_str(), nullptr};
    const char* const environment[] = {"PATH=/usr/bin:/bin", variable.c_str(), nullptr};
    pid_t program = -1;
    int status = 0;
    const bool stopped = ::posix_spawnp(&program, "sh", nullptr, nullptr, const_cast<char**>(arguments),
                                        const_cast<char**>(environment)) == 0 &&
                         ::waitpid(program, &status, WUNTRACED) == program && WIFSTOPPED(status);
    if (!stopped) throw std::runtime_error("no program to ask");  // nor one to kill
    return program;
  }

  std::string folder_, path_, request_;
  int listener_ = -1;
  std::thread program_;
};

TEST_F(ControlClient, SendsALineAndReadsWhatMoved) {
  answer_with("ok 4096 512\n");
  const ControlReply reply = ask_program(77, "sleep :kv", 10);
  program_.join();
  EXPECT_EQ(request_, "sleep :kv\n");
  EXPECT_EQ(reply.problem, "");
  EXPECT_EQ(reply.moved_bytes, 4096u);
  EXPECT_EQ(reply.stayed_bytes, 512u);
}

TEST_F(ControlClient, ErrorsOfTheProgramAreItsOwnWords) {
  answer_with("error no tag 'kv'\n");
  EXPECT_EQ(ask_program(77, "wake :kv", 10).problem, "no tag 'kv'");
}

TEST_F(ControlClient, WhatIsNoAnswerIsAnError) {
  answer_with("hello\n");
  EXPECT_EQ(ask_program(77, "wake *", 10).problem, "an answer that is none");
}

TEST_F(ControlClient, ASilentProgramIsWaitedForNoLongerThanAsked) {
  EXPECT_EQ(ask_program(77, "wake *", 1).problem, "no answer in time");
}

TEST_F(ControlClient, ASocketOfADeadProgramIsRemoved) {
  close_listener();
  EXPECT_NE(ask_program(77, "wake *", 1).problem.find("process 77 does not run"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ControlClient, AProgramThatListensInAFolderOfItsOwnIsFound) {
  close_listener();
  for (const std::string& named : {folder_ + "/own", std::string("own")}) {
    std::filesystem::create_directories(folder_ + "/own");
    const pid_t program = stopped_program_with("TESSERA_CONTROL_DIR=" + named);
    listen_at(fmt::format("{}/own/{}.sock", folder_, program));
    answer_with("ok 1 2\n");
    const ControlReply reply = ask_program(program, "sleep *", 10);
    ::kill(program, SIGKILL);
    ::waitpid(program, nullptr, 0);
    if (reply.moved_bytes == 0) ::shutdown(listener_, SHUT_RDWR);  // nobody came, and nobody will
    program_.join();
    close_listener();
    EXPECT_EQ(reply.problem, "") << named;
    EXPECT_EQ(reply.stayed_bytes, 2u) << named;
  }
}

TEST(ControlFolders, TheUsersOwnRuntimeFolderComesFirstIfThereIsOne) {
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(control_folders().size(), 1u);
  ::setenv("XDG_RUNTIME_DIR", ::testing::TempDir().c_str(), 1);
  ASSERT_EQ(control_folders().size(), 2u);
  EXPECT_EQ(control_folders()[0], ::testing::TempDir() + "/tessera");
  ::setenv("XDG_RUNTIME_DIR", "/no/such/folder", 1);
  EXPECT_EQ(control_folders().size(), 1u);
  ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
