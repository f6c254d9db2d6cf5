#include "tier/uring_io.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "block_buffer.hpp"
#include "in_child.hpp"
#include "private_mount.hpp"
#include "task_limit.hpp"

namespace tessera {
namespace {

// Behaviour common to all implementations is in tests/contract/file_io_contract.hpp.
class UringIoTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = UringIo::open(testing::TempDir(), 256_MiB);
    if (opened.status().code() == Code::kNotSupported) GTEST_SKIP() << opened.status().to_string();
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    io_ = opened.take();
  }

  static void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }
  IoTicket write(BlockBuffer& from, Bytes bytes, Bytes offset) {
    auto started = io_->write(from.data(), bytes, offset);
    EXPECT_TRUE(started.is_ok()) << started.status().to_string();
    return started.is_ok() ? started.value() : IoTicket();
  }
  IoTicket read(BlockBuffer& to, Bytes bytes, Bytes offset) {
    auto started = io_->read(to.data(), bytes, offset);
    EXPECT_TRUE(started.is_ok()) << started.status().to_string();
    return started.is_ok() ? started.value() : IoTicket();
  }

  std::unique_ptr<UringIo> io_;
};

TEST_F(UringIoTest, MemoryThatWasAttachedMovesTheSameAndMayBeDetached) {
  BlockBuffer attached(8_MiB, 5);
  io_->attach(attached.data(), 8_MiB);
  expect_ok(io_->wait(write(attached, 8_MiB, Bytes())));
  BlockBuffer other(8_MiB);
  expect_ok(io_->wait(read(other, 8_MiB, Bytes())));
  EXPECT_TRUE(other.holds(5));
  expect_ok(io_->wait(write(other, 8_MiB, 16_MiB)));
  expect_ok(io_->wait(read(attached, 8_MiB, 16_MiB)));
  EXPECT_TRUE(attached.holds(5));
  io_->detach(attached.data());
  EXPECT_EQ(io_->attached(), 0u);
  expect_ok(io_->wait(read(attached, 8_MiB, Bytes())));
  EXPECT_TRUE(attached.holds(5));
}

TEST_F(UringIoTest, APieceThatTheSystemRefusesIsUsedWithoutBeingAttached) {
  io_->attach(reinterpret_cast<void*>(0x1000), 4_MiB);
  EXPECT_EQ(io_->attached(), 0u);
  BlockBuffer out(4_MiB, 1);
  io_->attach(out.data(), 4_MiB);  // after a refusal no further attempts are made
  EXPECT_EQ(io_->attached(), 0u);
  expect_ok(io_->wait(write(out, 4_MiB, Bytes())));
  io_->detach(out.data());
}

TEST_F(UringIoTest, ATransferThatReachesOutOfWhatIsAttachedIsDoneWithout) {
  BlockBuffer out(8_MiB, 3);
  io_->attach(out.data(), 512_KiB);
  expect_ok(io_->wait(write(out, 8_MiB, Bytes())));
  BlockBuffer in(8_MiB);
  expect_ok(io_->wait(read(in, 8_MiB, Bytes())));
  EXPECT_TRUE(in.holds(3));
  io_->detach(out.data());
}

// Writes and reads back in a process in which `rules` are refused only after the file was opened.
bool survives(const std::vector<refused_call>& rules, const std::string& line) {
  return in_child([&] {
    auto io = UringIo::open(testing::TempDir(), 64_MiB);
    if (!io.is_ok() || !refuse(rules)) return false;
    BlockBuffer out(32_MiB, 4), in(32_MiB);
    testing::internal::CaptureStderr();
    const auto writing = io.value()->write(out.data(), 32_MiB, Bytes());
    if (!writing.is_ok() || !io.value()->wait(writing.value()).is_ok()) return false;
    const auto reading = io.value()->read(in.data(), 32_MiB, Bytes());
    if (!reading.is_ok()) return false;
    Status polled = io.value()->poll(reading.value());
    while (polled.code() == Code::kNotReady) polled = io.value()->poll(reading.value());
    io.value().reset();
    const std::string said = testing::internal::GetCapturedStderr();
    return polled.is_ok() && in.holds(4) && said.find(line) != std::string::npos && said.find('\n') == said.size() - 1;
  });
}

TEST_F(UringIoTest, ALaterRefusalIsNotRetriedForever) {
  if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  for (const int error : {EPERM, ENOSYS, EAGAIN, EBUSY}) {
    EXPECT_TRUE(survives({{SYS_io_uring_enter, error, 0, 0}}, std::strerror(error))) << std::strerror(error);
  }
}

// Kernel workers are created for each thread that submits requests, and a fresh file's blocks need one.
TEST_F(UringIoTest, WithoutNewKernelWorkersNothingHangs) {
  const TaskLimit limit(100);
  if (!limit.usable()) GTEST_SKIP() << "no control group of our own on this machine";
  EXPECT_TRUE(in_child([&] {
    if (!limit.enter()) return false;
    auto io = UringIo::open(testing::TempDir(), 64_MiB);
    if (!io.is_ok()) return false;
    BlockBuffer out(32_MiB, 4), in(32_MiB);
    std::atomic<bool> closed{false}, right{false};
    std::thread other([&] {
      while (!closed) std::this_thread::yield();
      const auto writing = io.value()->write(out.data(), 32_MiB, Bytes());
      if (!writing.is_ok() || !io.value()->wait(writing.value()).is_ok()) return;
      const auto reading = io.value()->read(in.data(), 32_MiB, Bytes());
      right = reading.is_ok() && io.value()->wait(reading.value()).is_ok() && in.holds(4);
    });
    const bool full = limit.close();
    closed = true;
    other.join();
    return full && right;
  }));
}

// No disk responds immediately, so requests are cancelled while they run.
TEST_F(UringIoTest, CancelledRequestsAreDoneByPlainCalls) {
  auto io = UringIo::open(testing::TempDir(), 256_MiB, std::make_unique<SteadyClock>(), std::chrono::milliseconds(0));
  ASSERT_TRUE(io.is_ok()) << io.status().to_string();
  testing::internal::CaptureStderr();  // a request may or may not be cancelled
  for (std::uint64_t round = 0; round < 2; ++round) {
    BlockBuffer out(32_MiB, round), in(32_MiB);
    expect_ok(io.value()->wait(io.value()->write(out.data(), 32_MiB, 32_MiB * round).take()));
    expect_ok(io.value()->wait(io.value()->read(in.data(), 32_MiB, 32_MiB * round).take()));
    EXPECT_TRUE(in.holds(round)) << round;
  }
  io.value().reset();
  testing::internal::GetCapturedStderr();
}

// A program that closed its standard streams must not print into the ring or the file.
TEST_F(UringIoTest, NeitherTheRingNorTheFileIsAStandardStream) {
  EXPECT_TRUE(in_child([] {
    for (const int stream : {0, 1, 2}) ::close(stream);
    const auto io = UringIo::open(testing::TempDir(), 2_MiB);
    bool none = io.is_ok();
    for (const int stream : {0, 1, 2}) none = none && ::fcntl(stream, F_GETFD) == -1;
    BlockBuffer out(2_MiB, 1);
    return none && io.value()->wait(io.value()->write(out.data(), 2_MiB, Bytes()).take()).is_ok();
  }));
}

TEST_F(UringIoTest, ADirectoryThatIsMissingIsNamed) {
  const Status status = UringIo::open("/nonexistent", 2_MiB).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("/nonexistent"), std::string::npos);
}

TEST_F(UringIoTest, AFullDiskIsNamedWithTheBytesThatWereNotWritten) {
  const InMount result = in_private_mount("tmpfs", "size=4m", [](const std::string& directory) {
    auto io = UringIo::open(directory, 16_MiB);
    if (!io.is_ok()) return false;
    BlockBuffer out(8_MiB, 1);
    auto started = io.value()->write(out.data(), 8_MiB, Bytes());
    const Status status = started.is_ok() ? io.value()->wait(started.value()) : started.status();
    const std::string message(status.message());
    return status.code() == Code::kIo && message.find(directory) != std::string::npos &&
           message.find("No space left on device") != std::string::npos;
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

TEST_F(UringIoTest, WithoutDirectAccessTransfersAreTheSame) {
  const InMount result = in_private_mount("ramfs", "", [](const std::string& directory) {
    auto io = UringIo::open(directory, 16_MiB);
    if (!io.is_ok()) return false;
    BlockBuffer out(8_MiB, 1);
    BlockBuffer in(8_MiB);
    auto writing = io.value()->write(out.data(), 8_MiB, Bytes());
    if (!writing.is_ok() || !io.value()->wait(writing.value()).is_ok()) return false;
    auto reading = io.value()->read(in.data(), 8_MiB, Bytes());
    return reading.is_ok() && io.value()->wait(reading.value()).is_ok() && in.holds(1);
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

// Each reading is later than the previous one, so that a disk seems to take this long for each request.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(Nanoseconds tick) : tick_(tick) {}
  Nanoseconds now() const override { return Nanoseconds(looks_++ * tick_.value()); }

 private:
  const Nanoseconds tick_;
  mutable std::atomic<std::uint64_t> looks_{0};
};

// The output while all depths are tried by reading holes, which causes no disk access.
std::string said_of_a_disk(Nanoseconds tick) {
  auto io = UringIo::open(testing::TempDir(), 8_MiB, std::make_unique<TickingClock>(tick));
  if (!io.is_ok()) return std::string(io.status().message());
  BlockBuffer to(8_MiB);
  testing::internal::CaptureStderr();
  std::vector<IoTicket> tickets;
  for (int i = 0; i < 200; ++i) {
    auto started = io.value()->read(to.data(), 8_MiB, Bytes());
    if (started.is_ok()) tickets.push_back(started.value());
  }
  for (const IoTicket ticket : tickets) EXPECT_TRUE(io.value()->wait(ticket).is_ok());
  return testing::internal::GetCapturedStderr();
}

TEST_F(UringIoTest, WarnsOnceOfADiskThatSlowsTheProgram) {
  const std::string said = said_of_a_disk(Nanoseconds(10'000'000));
  EXPECT_TRUE(said.starts_with("tessera: spill directory " + testing::TempDir() + ": reads at ")) << said;
  EXPECT_TRUE(said.ends_with(" in flight: evictions and fetches will wait for this slow disk\n")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(UringIoTest, LogsTheSpeedOfAFastDiskAtInfoLevel) {
  EXPECT_EQ(said_of_a_disk(Nanoseconds(1000)), "");
  set_log_level(LogLevel::kInfo);
  const std::string said = said_of_a_disk(Nanoseconds(1000));
  set_log_level(LogLevel::kWarning);
  EXPECT_NE(said.find(": reads at "), std::string::npos) << said;
  EXPECT_EQ(said.find("slow"), std::string::npos) << said;
}

}  // namespace
}  // namespace tessera
