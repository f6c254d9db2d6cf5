// One suite for every FileIo, real or modelled, and another for those that transfer bytes to a disk.
//
// Instantiate with INSTANTIATE_TYPED_TEST_SUITE_P(Name, FileIoContract, Machine), and DiskFileIoContract; a Machine is
// a default-constructible type with
//   FileIo* io();    new, over a file of kFile bytes; null if this machine has none
//   void idle();     lets time pass, if it does not by itself
//   void finish();   destroys the FileIo
//
// Thread safety: a test suite.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "block_buffer.hpp"
#include "tier/file_io.hpp"

namespace tessera::contract {

inline constexpr Bytes kFile = 256_MiB;

template <class Machine>
class FileIoContract : public ::testing::Test {
 protected:
  void SetUp() override {
    if (machine_.io() == nullptr) GTEST_SKIP() << "this machine refuses it";
  }

  FileIo& io() { return *machine_.io(); }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }
  IoTicket started(Result<IoTicket> ticket) {
    EXPECT_TRUE(ticket.is_ok()) << ticket.status().to_string();
    return ticket.is_ok() ? ticket.value() : IoTicket();
  }
  IoTicket write(BlockBuffer& from, Bytes bytes, Bytes offset) {
    return started(io().write(from.data(), bytes, offset));
  }
  IoTicket read(BlockBuffer& to, Bytes bytes, Bytes offset) { return started(io().read(to.data(), bytes, offset)); }
  // The outcome, by polling only.
  Status polled(IoTicket ticket) {
    Status status = io().poll(ticket);
    while (status.code() == Code::kNotReady) {
      machine_.idle();
      status = io().poll(ticket);
    }
    return status;
  }

  Machine machine_;
};

TYPED_TEST_SUITE_P(FileIoContract);

TYPED_TEST_P(FileIoContract, HasAName) { EXPECT_STRNE(this->io().name(), ""); }

TYPED_TEST_P(FileIoContract, AnOutcomeIsGivenExactlyOnce) {
  BlockBuffer out(4_KiB, 1);
  const IoTicket ticket = this->write(out, 4_KiB, Bytes());
  this->expect_ok(this->io().wait(ticket));
  EXPECT_EQ(this->io().wait(ticket).code(), Code::kInvalidArgument);
  EXPECT_EQ(this->io().poll(ticket).code(), Code::kInvalidArgument);
}

TYPED_TEST_P(FileIoContract, TransfersMayBeWaitedForInAnyOrder) {
  BlockBuffer first(32_MiB, 1), second(4_KiB, 2);
  const IoTicket large = this->write(first, 32_MiB, Bytes());
  const IoTicket small = this->write(second, 4_KiB, 64_MiB);
  this->expect_ok(this->io().wait(small));
  this->expect_ok(this->io().wait(large));
}

TYPED_TEST_P(FileIoContract, PollingAloneFinishesManyTransfers) {
  BlockBuffer out(2_MiB, 1);
  std::vector<IoTicket> tickets;
  for (std::uint64_t i = 0; i < 64; ++i) tickets.push_back(this->write(out, 2_MiB, 2_MiB * i));
  for (const IoTicket ticket : tickets) this->expect_ok(this->polled(ticket));
}

TYPED_TEST_P(FileIoContract, ReadsAndWritesAreUnderWayTogether) {
  BlockBuffer out(8_MiB, 1), in(8_MiB);
  this->expect_ok(this->io().wait(this->write(out, 8_MiB, Bytes())));
  const IoTicket writing = this->write(out, 8_MiB, 8_MiB);
  const IoTicket reading = this->read(in, 8_MiB, Bytes());
  this->expect_ok(this->polled(reading));
  this->expect_ok(this->io().wait(writing));
}

TYPED_TEST_P(FileIoContract, MoreTransfersThanTheBoundAreRefusedUntilSomeAreDone) {
  BlockBuffer buffer(4_KiB, 1);
  std::vector<IoTicket> tickets;
  for (std::size_t i = 0; i < FileIo::kMaxTransfers; ++i) tickets.push_back(this->write(buffer, 4_KiB, Bytes()));
  EXPECT_EQ(this->io().write(buffer.data(), 4_KiB, Bytes()).status().code(), Code::kBusy);
  for (const IoTicket ticket : tickets) this->expect_ok(this->io().wait(ticket));
  this->expect_ok(this->io().wait(this->write(buffer, 4_KiB, Bytes())));
}

TYPED_TEST_P(FileIoContract, MemoryMayBeAttachedAndDetached) {
  BlockBuffer attached(8_MiB, 5), other(8_MiB, 6);
  this->io().attach(attached.data(), 8_MiB);
  this->expect_ok(this->io().wait(this->write(attached, 8_MiB, Bytes())));
  this->io().detach(attached.data());
  this->io().detach(other.data());
  this->expect_ok(this->io().wait(this->write(attached, 8_MiB, Bytes())));
}

TYPED_TEST_P(FileIoContract, SpaceMayBeDiscarded) {
  BlockBuffer out(2_MiB, 1);
  this->expect_ok(this->io().wait(this->write(out, 2_MiB, 4_MiB)));
  const Status discarded = this->io().discard(4_MiB, 2_MiB);
  EXPECT_TRUE(discarded.is_ok() || discarded.code() == Code::kNotSupported) << discarded.to_string();
}

TYPED_TEST_P(FileIoContract, EndsWhileTransfersAreInFlight) {
  BlockBuffer out(64_MiB, 1), in(64_MiB);
  this->write(out, 64_MiB, Bytes());
  this->read(in, 64_MiB, 64_MiB);
  this->machine_.finish();
}

REGISTER_TYPED_TEST_SUITE_P(FileIoContract, HasAName, AnOutcomeIsGivenExactlyOnce, TransfersMayBeWaitedForInAnyOrder,
                            PollingAloneFinishesManyTransfers, ReadsAndWritesAreUnderWayTogether,
                            MoreTransfersThanTheBoundAreRefusedUntilSomeAreDone, MemoryMayBeAttachedAndDetached,
                            SpaceMayBeDiscarded, EndsWhileTransfersAreInFlight);

template <class Machine>
class DiskFileIoContract : public FileIoContract<Machine> {};

TYPED_TEST_SUITE_P(DiskFileIoContract);

TYPED_TEST_P(DiskFileIoContract, WrittenBytesAreReadBack) {
  for (const Bytes bytes : {4_KiB, 1_MiB, 1_MiB + 4_KiB, 2_MiB, 40_MiB}) {
    BlockBuffer out(bytes, bytes.value());
    this->expect_ok(this->io().wait(this->write(out, bytes, 8_MiB)));
    BlockBuffer in(bytes);
    this->expect_ok(this->io().wait(this->read(in, bytes, 8_MiB)));
    EXPECT_TRUE(in.holds(bytes.value())) << bytes.value();
  }
}

TYPED_TEST_P(DiskFileIoContract, ManyTransfersInFlightDoNotMixTheirBytes) {
  constexpr std::uint64_t kCount = 64;  // of two chunks each, several times the number in flight
  std::vector<BlockBuffer> buffers;
  std::vector<IoTicket> tickets;
  for (std::uint64_t i = 0; i < kCount; ++i) buffers.emplace_back(2_MiB, i);
  for (std::uint64_t i = 0; i < kCount; ++i) tickets.push_back(this->write(buffers[i], 2_MiB, 2_MiB * i));
  for (const IoTicket ticket : tickets) this->expect_ok(this->polled(ticket));
  tickets.clear();
  std::vector<BlockBuffer> found;
  for (std::uint64_t i = 0; i < kCount; ++i) found.emplace_back(2_MiB);
  for (std::uint64_t i = 0; i < kCount; ++i) tickets.push_back(this->read(found[i], 2_MiB, 2_MiB * i));
  for (const IoTicket ticket : tickets) this->expect_ok(this->io().wait(ticket));
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_TRUE(found[i].holds(i)) << i;
}

TYPED_TEST_P(DiskFileIoContract, AttachedMemoryMovesTheSame) {
  BlockBuffer attached(8_MiB, 5), other(8_MiB);
  this->io().attach(attached.data(), 8_MiB);
  this->expect_ok(this->io().wait(this->write(attached, 8_MiB, Bytes())));
  this->expect_ok(this->io().wait(this->read(other, 8_MiB, Bytes())));
  EXPECT_TRUE(other.holds(5));
  this->expect_ok(this->io().wait(this->write(other, 8_MiB, 16_MiB)));
  std::memset(attached.data(), 0, (8_MiB).value());
  this->expect_ok(this->io().wait(this->read(attached, 8_MiB, 16_MiB)));
  EXPECT_TRUE(attached.holds(5));
  this->io().detach(attached.data());
}

TYPED_TEST_P(DiskFileIoContract, DiscardedBytesReadAsZeros) {
  BlockBuffer out(2_MiB, 1);
  this->expect_ok(this->io().wait(this->write(out, 2_MiB, 4_MiB)));
  this->expect_ok(this->io().discard(4_MiB, 2_MiB));
  BlockBuffer in(2_MiB, 2);
  this->expect_ok(this->io().wait(this->read(in, 2_MiB, 4_MiB)));
  EXPECT_EQ(std::memcmp(in.data(), BlockBuffer(2_MiB).data(), (2_MiB).value()), 0);
}

TYPED_TEST_P(DiskFileIoContract, TransfersThatAreNotWholeBlocksAreRefused) {
  BlockBuffer buffer(8_KiB);
  auto* const inside = static_cast<std::byte*>(buffer.data()) + 512;
  EXPECT_EQ(this->io().read(inside, 4_KiB, Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(this->io().read(buffer.data(), 100_B, Bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(this->io().read(buffer.data(), 4_KiB, 1_KiB).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(this->io().read(buffer.data(), Bytes(), Bytes()).status().code(), Code::kInvalidArgument);
}

TYPED_TEST_P(DiskFileIoContract, ReadingBehindTheEndOfTheFileIsAnError) {
  BlockBuffer buffer(4_MiB);
  const Status status = this->io().wait(this->read(buffer, 4_MiB, kFile - 2_MiB));
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("reading"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("the file ends there"), std::string::npos) << status.message();
}

TYPED_TEST_P(DiskFileIoContract, MemoryThatCannotBeReadIsAnErrorOfThisTransferAlone) {
  const IoTicket bad = this->started(this->io().write(reinterpret_cast<void*>(0x1000), 4_MiB, Bytes()));
  BlockBuffer out(2_MiB, 1);
  const IoTicket good = this->write(out, 2_MiB, 16_MiB);
  const Status status = this->io().wait(bad);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("Bad address"), std::string::npos) << status.message();
  this->expect_ok(this->io().wait(good));
}

TYPED_TEST_P(DiskFileIoContract, SeveralThreadsShareIt) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint64_t round = 0; round < 8; ++round) {
        BlockBuffer out(4_MiB, 100 * t + round);
        this->expect_ok(this->io().wait(this->write(out, 4_MiB, 8_MiB * t)));
        BlockBuffer in(4_MiB);
        this->expect_ok(this->polled(this->read(in, 4_MiB, 8_MiB * t)));
        EXPECT_TRUE(in.holds(100 * t + round));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The kernel cancels the I/O of a thread when the thread ends.
TYPED_TEST_P(DiskFileIoContract, ATransferOutlivesTheThreadThatStartedIt) {
  for (std::uint64_t round = 0; round < 3; ++round) {
    BlockBuffer out(16_MiB, round);
    IoTicket ticket;
    std::thread([&] { ticket = this->write(out, 16_MiB, Bytes()); }).join();
    this->expect_ok(this->io().wait(ticket));
    BlockBuffer in(16_MiB);
    this->expect_ok(this->io().wait(this->read(in, 16_MiB, Bytes())));
    EXPECT_TRUE(in.holds(round));
  }
}

REGISTER_TYPED_TEST_SUITE_P(DiskFileIoContract, WrittenBytesAreReadBack, ManyTransfersInFlightDoNotMixTheirBytes,
                            AttachedMemoryMovesTheSame, DiscardedBytesReadAsZeros,
                            TransfersThatAreNotWholeBlocksAreRefused, ReadingBehindTheEndOfTheFileIsAnError,
                            MemoryThatCannotBeReadIsAnErrorOfThisTransferAlone, SeveralThreadsShareIt,
                            ATransferOutlivesTheThreadThatStartedIt);

}  // namespace tessera::contract
