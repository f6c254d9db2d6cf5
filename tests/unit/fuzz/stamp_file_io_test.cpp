#include "lab/fuzz/stamp_file_io.hpp"

#include <gtest/gtest.h>

#include "base/page_class.hpp"

namespace tessera {
namespace {

class StampFileIoTest : public ::testing::Test {
 protected:
  StampFileIoTest() : disk_(clock_, memory_, LinkSpeed{1'000'000'000, {}}, LinkSpeed{1'000'000'000, {}}) {
    memory_.write(host_place(host_), kBasePage, 7);
  }

  Status write() {
    const Result<IoTicket> ticket = disk_.write(host_, kBasePage, Bytes());
    return ticket.is_ok() ? disk_.wait(ticket.value()) : ticket.status();
  }
  Status read() {
    const Result<IoTicket> ticket = disk_.read(host_, kBasePage, Bytes());
    return ticket.is_ok() ? disk_.wait(ticket.value()) : ticket.status();
  }
  std::optional<Stamp> found() { return memory_.stamp_of(host_place(host_), kBasePage); }

  VirtualClock clock_;
  StampMemory memory_;
  StampFileIo disk_;
  void* host_ = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
};

TEST_F(StampFileIoTest, WrittenStampsAreReadBack) {
  EXPECT_TRUE(write().is_ok());
  memory_.write(host_place(host_), kBasePage, 8);
  EXPECT_TRUE(read().is_ok());
  EXPECT_EQ(found(), 7U);
  EXPECT_EQ(disk_.struck(), 0U);
}

TEST_F(StampFileIoTest, VisibleFaultsAreErrors) {
  for (const DiskFault fault : {DiskFault::kRefuse, DiskFault::kFail}) {
    disk_.arm(fault, 1);
    EXPECT_EQ(write().code(), Code::kIo) << name_of(fault);
    EXPECT_TRUE(write().is_ok()) << "once only";
  }
  disk_.arm(DiskFault::kBusy, 2);
  EXPECT_TRUE(write().is_ok());
  EXPECT_EQ(write().code(), Code::kBusy);
  EXPECT_FALSE(disk_.corrupted());
}

TEST_F(StampFileIoTest, SilentFaultsCorruptReads) {
  for (const DiskFault fault : {DiskFault::kShortWrite, DiskFault::kFlip}) {
    memory_.write(host_place(host_), kBasePage, 7);
    disk_.arm(fault, 1);
    EXPECT_TRUE(write().is_ok());
    EXPECT_TRUE(read().is_ok());
    EXPECT_NE(found(), 7U) << name_of(fault);
    EXPECT_TRUE(disk_.corrupted());
  }
}

TEST_F(StampFileIoTest, AFullDiskStaysFullUntilFaultsStop) {
  disk_.arm(DiskFault::kFull, 1);
  EXPECT_EQ(write().code(), Code::kIo);
  EXPECT_EQ(write().code(), Code::kIo);
  disk_.arm(DiskFault::kNone, 1);
  EXPECT_TRUE(write().is_ok());
}

TEST_F(StampFileIoTest, ALateTransferIsNotReadyForASecond) {
  disk_.arm(DiskFault::kLate, 1);
  const IoTicket ticket = disk_.write(host_, kBasePage, Bytes()).take();
  clock_.run_until(Nanoseconds(500'000'000));
  EXPECT_EQ(disk_.poll(ticket).code(), Code::kNotReady);
  EXPECT_TRUE(disk_.wait(ticket).is_ok());
  EXPECT_GE(clock_.now(), Nanoseconds(1'000'000'000));
}

TEST_F(StampFileIoTest, AChangeUnderAWriteIsAViolation) {
  const IoTicket ticket = disk_.write(host_, kBasePage, Bytes()).take();
  memory_.write(host_place(host_), kBasePage, 9);
  EXPECT_TRUE(disk_.wait(ticket).is_ok());
  EXPECT_TRUE(disk_.violation());
}

}  // namespace
}  // namespace tessera
