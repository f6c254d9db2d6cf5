#include "tier/thread_io.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "base/thread.hpp"
#include "block_buffer.hpp"
#include "in_child.hpp"
#include "no_threads.hpp"
#include "private_mount.hpp"
#include "task_limit.hpp"

namespace tessera {
namespace {

std::unique_ptr<ThreadIo> open_here(Bytes size = 64_MiB) {
  auto io = ThreadIo::open(testing::TempDir(), size);
  EXPECT_TRUE(io.is_ok()) << io.status().to_string();
  return io.take();
}

Status write(ThreadIo& io, BlockBuffer& from, Bytes bytes) {
  const auto started = io.write(from.data(), bytes, Bytes());
  return started.is_ok() ? io.wait(started.value()) : started.status();
}
Status read(ThreadIo& io, BlockBuffer& to, Bytes bytes) {
  const auto started = io.read(to.data(), bytes, Bytes());
  return started.is_ok() ? io.wait(started.value()) : started.status();
}

// The number of threads of this process that block all of these signals, according to the system.
unsigned threads_that_block(std::initializer_list<int> signals) {
  unsigned count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t mask = 0;
      if (word != "SigBlk:" || !(status >> std::hex >> mask)) continue;
      count += std::ranges::all_of(signals, [mask](int signal) { return (mask >> (signal - 1) & 1) != 0; });
    }
  }
  return count;
}

TEST(ThreadIoTest, EachDirectionHasItsThreads) {
  const auto io = open_here();
  EXPECT_EQ(io->threads(), 2 * ThreadIo::kThreads);
  EXPECT_STREQ(io->name(), "threads");
  EXPECT_TRUE(io->refusal().is_ok());
}

TEST(ThreadIoTest, SignalsOfTheProgramDoNotRunOnThem) {
  const auto io = open_here();
  // Kernel workers from an earlier test block them, too; this thread does not.
  EXPECT_GE(threads_that_block({SIGTERM, SIGINT, SIGPROF, SIGUSR1, SIGXFSZ}), io->threads());
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(::sigismember(&own, SIGTERM), 0);
}

TEST(ThreadIoTest, WithoutThreadsAWaitCarriesOutTheTransfer) {
  std::unique_ptr<ThreadIo> io;
  {
    const NoThreads none;
    io = open_here();
  }
  EXPECT_EQ(io->threads(), 0u);
  EXPECT_STREQ(io->name(), "calls");
  EXPECT_EQ(io->refusal().code(), Code::kBusy);
  BlockBuffer out(8_MiB, 3), in(8_MiB);
  EXPECT_TRUE(write(*io, out, 8_MiB).is_ok());
  EXPECT_TRUE(read(*io, in, 8_MiB).is_ok());
  EXPECT_TRUE(in.holds(3));
}

// Otherwise the program would get none.
TEST(ThreadIoTest, AtATaskLimitKeepsOneThreadPerDirection) {
  const TaskLimit limit(9);
  if (!limit.usable()) GTEST_SKIP() << "no control group of our own on this machine";
  EXPECT_TRUE(in_child([&] {
    if (!limit.enter()) return false;
    const auto io = ThreadIo::open(testing::TempDir(), 64_MiB).take();
    std::thread own;
    const bool room = start_thread(own, [] {}).is_ok();
    if (room) own.join();
    BlockBuffer out(8_MiB, 3), in(8_MiB);
    return room && io->threads() == 2 && io->refusal().code() == Code::kBusy && write(*io, out, 8_MiB).is_ok() &&
           read(*io, in, 8_MiB).is_ok() && in.holds(3);
  }));
}

// So that a poll stays short.
TEST(ThreadIoTest, WithoutThreadsAPollCarriesOutOneChunk) {
  std::unique_ptr<ThreadIo> io;
  {
    const NoThreads none;
    io = open_here();
  }
  BlockBuffer out(3_MiB, 3);
  const IoTicket ticket = io->write(out.data(), 3_MiB, Bytes()).take();
  EXPECT_EQ(io->poll(ticket).code(), Code::kNotReady);
  EXPECT_EQ(io->poll(ticket).code(), Code::kNotReady);
  EXPECT_TRUE(io->poll(ticket).is_ok());
}

TEST(ThreadIoTest, ADirectoryThatIsMissingIsNamed) {
  const Status status = ThreadIo::open("/nonexistent", 2_MiB).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("/nonexistent"), std::string::npos);
}

TEST(ThreadIoTest, AFullDiskIsNamedWithTheBytesThatWereNotWritten) {
  const InMount result = in_private_mount("tmpfs", "size=4m", [](const std::string& directory) {
    auto io = ThreadIo::open(directory, 16_MiB);
    if (!io.is_ok()) return false;
    BlockBuffer out(8_MiB, 1);
    const Status status = write(*io.value(), out, 8_MiB);
    const std::string message(status.message());
    return status.code() == Code::kIo && message.find(directory) != std::string::npos &&
           message.find("No space left on device") != std::string::npos;
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

TEST(ThreadIoTest, WithoutDirectAccessTransfersAreTheSame) {
  const InMount result = in_private_mount("ramfs", "", [](const std::string& directory) {
    auto io = ThreadIo::open(directory, 16_MiB);
    BlockBuffer out(8_MiB, 1), in(8_MiB);
    return io.is_ok() && write(*io.value(), out, 8_MiB).is_ok() && read(*io.value(), in, 8_MiB).is_ok() && in.holds(1);
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

}  // namespace
}  // namespace tessera
