#include "tier/uring_io.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "block_buffer.hpp"
#include "private_mount.hpp"

namespace tessera {
namespace {

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

TEST_F(UringIoTest, WhatWasWrittenIsReadBack) {
  for (const Bytes bytes : {4_KiB, 1_MiB, 1_MiB + 4_KiB, 2_MiB, 40_MiB}) {
    BlockBuffer out(bytes, bytes.value());
    expect_ok(io_->wait(write(out, bytes, 8_MiB)));
    BlockBuffer in(bytes);
    expect_ok(io_->wait(read(in, bytes, 8_MiB)));
    EXPECT_TRUE(in.holds(bytes.value())) << bytes.value();
  }
}

TEST_F(UringIoTest, PollingAloneFinishesMoreThanTheRingHolds) {
  constexpr std::uint64_t kCount = 64;  // of two chunks each, four times the depth
  std::vector<BlockBuffer> buffers;
  std::vector<IoTicket> tickets;
  for (std::uint64_t i = 0; i < kCount; ++i) buffers.emplace_back(2_MiB, i);
  for (std::uint64_t i = 0; i < kCount; ++i) tickets.push_back(write(buffers[i], 2_MiB, 2_MiB * i));
  while (!tickets.empty()) {
    std::erase_if(tickets, [this](IoTicket ticket) {
      const Status status = io_->poll(ticket);
      EXPECT_TRUE(status.is_ok() || status.code() == Code::kNotReady) << status.to_string();
      return status.code() != Code::kNotReady;
    });
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    BlockBuffer in(2_MiB);
    expect_ok(io_->wait(read(in, 2_MiB, 2_MiB * i)));
    EXPECT_TRUE(in.holds(i)) << i;
  }
}

TEST_F(UringIoTest, TransfersMayBeWaitedForInAnyOrder) {
  BlockBuffer first(32_MiB, 1);
  BlockBuffer second(4_KiB, 2);
  const IoTicket large = write(first, 32_MiB, Bytes());
  const IoTicket small = write(second, 4_KiB, 64_MiB);
  expect_ok(io_->wait(small));
  expect_ok(io_->wait(large));
}

TEST_F(UringIoTest, AnOutcomeIsGivenExactlyOnce) {
  BlockBuffer out(4_KiB, 1);
  const IoTicket ticket = write(out, 4_KiB, Bytes());
  expect_ok(io_->wait(ticket));
  EXPECT_EQ(io_->wait(ticket).code(), Code::kInvalidArgument);
  EXPECT_EQ(io_->poll(ticket).code(), Code::kInvalidArgument);
}

TEST_F(UringIoTest, TransfersThatAreNotWholeBlocksAreRefused) {
  BlockBuffer buffer(8_KiB);
  auto* const inside = static_cast<std::byte*>(buffer.data()) + 512;
  EXPECT_EQ(io_->read(inside, 4_KiB, Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(io_->read(buffer.data(), 100_B, Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(io_->read(buffer.data(), 4_KiB, 1_KiB).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(io_->read(buffer.data(), Bytes(), Bytes()).status().code(), Code::kInvalidArgument);
}

TEST_F(UringIoTest, MoreTransfersThanTheBoundAreRefusedUntilSomeAreDone) {
  BlockBuffer buffer(4_KiB);
  std::vector<IoTicket> tickets;
  for (std::size_t i = 0; i < UringIo::kMaxTransfers; ++i) {
    tickets.push_back(read(buffer, 4_KiB, Bytes()));
  }
  EXPECT_EQ(io_->read(buffer.data(), 4_KiB, Bytes()).status().code(), Code::kBusy);
  for (const IoTicket ticket : tickets) expect_ok(io_->wait(ticket));
  expect_ok(io_->wait(read(buffer, 4_KiB, Bytes())));
}

TEST_F(UringIoTest, ReadingBehindTheEndOfTheFileIsAnError) {
  BlockBuffer buffer(4_MiB);
  const Status status = io_->wait(read(buffer, 4_MiB, 254_MiB));
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("reading"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("the file ends there"), std::string::npos) << status.message();
}

TEST_F(UringIoTest, MemoryThatCannotBeReadIsAnErrorOfThisTransferAlone) {
  auto* const nowhere = reinterpret_cast<void*>(0x1000);
  auto bad = io_->write(nowhere, 4_MiB, Bytes());
  ASSERT_TRUE(bad.is_ok());
  BlockBuffer out(2_MiB, 1);
  const IoTicket good = write(out, 2_MiB, 16_MiB);
  EXPECT_EQ(io_->wait(bad.value()).code(), Code::kIo);
  expect_ok(io_->wait(good));
}

TEST_F(UringIoTest, SeveralThreadsShareTheRing) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint64_t round = 0; round < 8; ++round) {
        BlockBuffer out(4_MiB, 100 * t + round);
        expect_ok(io_->wait(write(out, 4_MiB, 8_MiB * t)));
        BlockBuffer in(4_MiB);
        const IoTicket reading = read(in, 4_MiB, 8_MiB * t);
        Status status = io_->poll(reading);
        while (status.code() == Code::kNotReady) status = io_->poll(reading);
        expect_ok(status);
        EXPECT_TRUE(in.holds(100 * t + round));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The kernel cancels what a thread has in flight when the thread ends.
TEST_F(UringIoTest, ATransferOutlivesTheThreadThatStartedIt) {
  for (std::uint64_t round = 0; round < 3; ++round) {
    BlockBuffer out(16_MiB, round);
    IoTicket ticket;
    std::thread([&] { ticket = write(out, 16_MiB, Bytes()); }).join();
    expect_ok(io_->wait(ticket));
    BlockBuffer in(16_MiB);
    expect_ok(io_->wait(read(in, 16_MiB, Bytes())));
    EXPECT_TRUE(in.holds(round));
  }
}

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
  io_->attach(out.data(), 4_MiB);  // after a refusal nothing more is tried
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

TEST_F(UringIoTest, DiscardedBytesReadAsZeros) {
  BlockBuffer out(2_MiB, 1);
  expect_ok(io_->wait(write(out, 2_MiB, 4_MiB)));
  expect_ok(io_->discard(4_MiB, 2_MiB));
  BlockBuffer in(2_MiB, 2);
  expect_ok(io_->wait(read(in, 2_MiB, 4_MiB)));
  EXPECT_EQ(std::memcmp(in.data(), BlockBuffer(2_MiB).data(), (2_MiB).value()), 0);
}

TEST_F(UringIoTest, EndsWhileTransfersAreInFlight) {
  BlockBuffer out(64_MiB, 1);
  write(out, 64_MiB, Bytes());
  io_.reset();
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

// Each look at it is a while later, so that a disk seems to take this long for each request.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(Nanoseconds tick) : tick_(tick) {}
  Nanoseconds now() const override { return Nanoseconds(looks_++ * tick_.value()); }

 private:
  const Nanoseconds tick_;
  mutable std::atomic<std::uint64_t> looks_{0};
};

// What is said while all depths are tried by reading holes, which costs no disk anything.
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

TEST_F(UringIoTest, ADiskThatHoldsUpMoreThanItHelpsIsNamedOnce) {
  const std::string said = said_of_a_disk(Nanoseconds(10'000'000));
  EXPECT_TRUE(said.starts_with("tessera: spill directory " + testing::TempDir() + ": reads at ")) << said;
  EXPECT_TRUE(said.ends_with(" in flight: a slow disk holds up what waits for it\n")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(UringIoTest, TheSpeedOfAFastDiskIsToldToWhoAsksForInformation) {
  EXPECT_EQ(said_of_a_disk(Nanoseconds(1000)), "");
  set_log_level(LogLevel::kInfo);
  const std::string said = said_of_a_disk(Nanoseconds(1000));
  set_log_level(LogLevel::kWarning);
  EXPECT_NE(said.find(": reads at "), std::string::npos) << said;
  EXPECT_EQ(said.find("slow"), std::string::npos) << said;
}

}  // namespace
}  // namespace tessera
