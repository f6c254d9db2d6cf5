#include "tier/file_io_choice.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "block_buffer.hpp"
#include "in_child.hpp"
#include "no_threads.hpp"
#include "tier/uring_io.hpp"

namespace tessera {
namespace {

bool moves_bytes(FileIo& io) {
  BlockBuffer out(4_MiB, 5), in(4_MiB);
  const auto writing = io.write(out.data(), 4_MiB, Bytes());
  if (!writing.is_ok() || !io.wait(writing.value()).is_ok()) return false;
  const auto reading = io.read(in.data(), 4_MiB, Bytes());
  return reading.is_ok() && io.wait(reading.value()).is_ok() && in.holds(5);
}

// Whether, in a process with these calls refused, pages are moved by `name`, and one line contains `words`.
bool chosen(const std::vector<refused_call>& rules, const char* name, const std::string& words) {
  return in_child([&] {
    if (!refuse(rules)) return false;
    testing::internal::CaptureStderr();
    const auto io = open_file_io(testing::TempDir(), 16_MiB);
    const std::string said = testing::internal::GetCapturedStderr();
    return io.is_ok() && std::strcmp(io.value()->name(), name) == 0 && said.find(words) != std::string::npos &&
           said.find('\n') == said.size() - 1 && moves_bytes(*io.value());
  });
}

class FileIoChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
    if (!UringIo::open(testing::TempDir(), 2_MiB).is_ok()) GTEST_SKIP() << "no io_uring on this machine";
  }
};

TEST_F(FileIoChoiceTest, FallsBackToThreadsForEveryRingRefusal) {
  for (const int error : {EPERM, EACCES, ENOSYS, ENOMEM, EINVAL, EMFILE}) {
    const std::string reason = std::strerror(error);
    EXPECT_TRUE(chosen({{SYS_io_uring_setup, error, 0, 0}}, "threads", "io_uring_setup: " + reason)) << reason;
  }
}

TEST_F(FileIoChoiceTest, ARingThatTakesNoRequestsIsNone) {
  for (const int error : {EPERM, ENOSYS, EINVAL, EAGAIN, EBUSY}) {
    const std::string reason = std::strerror(error);
    EXPECT_TRUE(chosen({{SYS_io_uring_enter, error, 0, 0}}, "threads", "io_uring_enter: " + reason)) << reason;
  }
}

TEST_F(FileIoChoiceTest, ARingWithWhichNothingMayBeRegisteredIsNone) {
  EXPECT_TRUE(chosen({{SYS_io_uring_register, EPERM, 0, 0}}, "threads", "io_uring_register: Operation not permitted"));
}

TEST_F(FileIoChoiceTest, FallsBackToBlockingCallsWithoutThreads) {
  EXPECT_TRUE(in_child([] {
    const NoThreads none;
    if (!refuse({{SYS_io_uring_setup, EPERM, 0, 0}})) return false;
    testing::internal::CaptureStderr();
    const auto io = open_file_io(testing::TempDir(), 16_MiB);
    const std::string said = testing::internal::GetCapturedStderr();
    return io.is_ok() && std::strcmp(io.value()->name(), "calls") == 0 &&
           said.find("threads cannot be started either") != std::string::npos && said.find('\n') == said.size() - 1 &&
           moves_bytes(*io.value());
  }));
}

TEST_F(FileIoChoiceTest, ADirectoryThatIsMissingIsAnErrorWithAndWithoutTheRing) {
  EXPECT_EQ(open_file_io("/nonexistent", 2_MiB).status().code(), Code::kIo);
  EXPECT_TRUE(in_child([] {
    return refuse({{SYS_io_uring_setup, EPERM, 0, 0}}) &&
           open_file_io("/nonexistent", 2_MiB).status().code() == Code::kIo;
  }));
}

}  // namespace
}  // namespace tessera
