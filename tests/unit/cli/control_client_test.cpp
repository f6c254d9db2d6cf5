#include "control_client.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tessera/control.h"

namespace {

// A thread of this process that answers one request on the process's own socket.
class ControlClient : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "control_client";
    std::filesystem::create_directories(folder_ + "/tessera");
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    tessera_process_identity own{};
    char name[TESSERA_CONTROL_NAME_BYTES];
    ASSERT_EQ(tessera_process_identity_of(0, &own), TESSERA_OK);
    tessera_control_name(&own, name);
    listen_at(folder_ + "/tessera/" + name);
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

  const int kSelf = ::getpid();
  std::string folder_, path_, request_;
  int listener_ = -1;
  std::thread program_;
};

TEST_F(ControlClient, SendsALineAndReadsTheMovedBytes) {
  answer_with("ok 4096 512\n");
  const ControlReply reply = ask_program(kSelf, "sleep :kv", 10);
  program_.join();
  EXPECT_EQ(request_, "sleep :kv\n");
  EXPECT_EQ(reply.problem, "");
  EXPECT_EQ(reply.moved_bytes, 4096u);
  EXPECT_EQ(reply.stayed_bytes, 512u);
}

TEST_F(ControlClient, ErrorsOfTheProgramArePassedOn) {
  answer_with("error no tag 'kv'\n");
  EXPECT_EQ(ask_program(kSelf, "wake :kv", 10).problem, "no tag 'kv'");
}

TEST_F(ControlClient, AnInvalidAnswerIsAnError) {
  answer_with("hello\n");
  EXPECT_EQ(ask_program(kSelf, "wake *", 10).problem, "an invalid answer");
}

TEST_F(ControlClient, WaitsForASilentProgramOnlyUntilTheTimeout) {
  EXPECT_EQ(ask_program(kSelf, "wake *", 1).problem, "timed out waiting for an answer; --timeout makes it wait longer");
}

TEST_F(ControlClient, ASocketOfADeadProgramIsRemoved) {
  close_listener();
  const std::string problem = ask_program(kSelf, "wake *", 1).problem;
  EXPECT_NE(problem.find("was not started by `tessera run`"), std::string::npos) << problem;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ControlClient, DoesNotAskAnotherProcessAtTheName) {
  // The parent's socket name, on which this process listens.
  tessera_process_identity parent{};
  char name[TESSERA_CONTROL_NAME_BYTES];
  ASSERT_EQ(tessera_process_identity_of(::getppid(), &parent), TESSERA_OK);
  tessera_control_name(&parent, name);
  close_listener();
  listen_at(folder_ + "/tessera/" + name);
  const std::string problem = ask_program(::getppid(), "sleep *", 1).problem;
  EXPECT_FALSE(problem.starts_with("timed out waiting for an answer")) << problem;
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
