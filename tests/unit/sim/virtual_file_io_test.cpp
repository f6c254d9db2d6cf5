#include "sim/virtual_file_io.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tier/file_tier.hpp"

namespace tessera {
namespace {

class VirtualFileIoTest : public ::testing::Test {
 protected:
  IoTicket read(Bytes bytes) { return io_.read(nullptr, bytes, Bytes()).take(); }
  IoTicket write(Bytes bytes) { return io_.write(nullptr, bytes, Bytes()).take(); }

  VirtualClock clock_;
  // 2 and 1 bytes per nanosecond, and 100 ns for each transfer.
  VirtualFileIo io_{clock_,
                    {.bytes_per_second = 2'000'000'000, .latency = Nanoseconds(100)},
                    {.bytes_per_second = 1'000'000'000, .latency = Nanoseconds(100)}};
};

TEST_F(VirtualFileIoTest, ATransferEndsWhenItsTimeHasPassed) {
  const IoTicket ticket = read(Bytes(4096));
  EXPECT_EQ(io_.poll(ticket).code(), Code::kNotReady);
  clock_.run_until(Nanoseconds(2147));
  EXPECT_EQ(io_.poll(ticket).code(), Code::kNotReady);
  clock_.run_until(Nanoseconds(2148));
  EXPECT_TRUE(io_.poll(ticket).is_ok());
  EXPECT_EQ(io_.poll(ticket).code(), Code::kInvalidArgument) << "its outcome was taken";
}

TEST_F(VirtualFileIoTest, ReadsAndWritesAreAQueueEach) {
  const IoTicket first = read(Bytes(4096)), second = read(Bytes(4096)), third = write(Bytes(4096));
  EXPECT_TRUE(io_.wait(third).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(4196));
  EXPECT_TRUE(io_.poll(first).is_ok());
  EXPECT_TRUE(io_.wait(second).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(4296));
}

TEST_F(VirtualFileIoTest, OtherEventsHappenInOrderDuringAWait) {
  std::vector<std::uint64_t> seen;
  clock_.schedule(Nanoseconds(500), [&] { seen.push_back(clock_.now().value()); });
  EXPECT_TRUE(io_.wait(read(Bytes(4096))).is_ok());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{500}));
}

TEST_F(VirtualFileIoTest, CountsCompletedTransfers) {
  const IoTicket first = write(Bytes(1'000'000)), second = write(Bytes(3'000'000));
  EXPECT_EQ(io_.bytes_written(), Bytes());
  EXPECT_TRUE(io_.wait(first).is_ok());
  EXPECT_EQ(io_.bytes_written(), Bytes(1'000'000));
  EXPECT_TRUE(io_.wait(second).is_ok());
  EXPECT_EQ(io_.bytes_written(), Bytes(4'000'000));
  EXPECT_EQ(io_.bytes_read(), Bytes());
}

TEST_F(VirtualFileIoTest, TooManyTransfersAreRefused) {
  for (std::size_t i = 0; i < VirtualFileIo::kMaxTransfers; ++i) write(Bytes(4096));
  EXPECT_EQ(io_.read(nullptr, Bytes(4096), Bytes()).status().code(), Code::kBusy);
}

TEST_F(VirtualFileIoTest, TheFileTierRunsOnItWithoutAnyBytes) {
  FileTier tier(std::make_unique<VirtualFileIo>(clock_, LinkSpeed{}, LinkSpeed{1'000'000'000, {}}), 1_TiB,
                checksum_of_nothing);
  const Frame frame = tier.take(PageClass::kLarge).take();
  ASSERT_TRUE(tier.wait(tier.write(frame, nullptr).take()).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds((32_MiB).value()));
  EXPECT_TRUE(tier.wait(tier.read(frame, nullptr).take()).is_ok());
  tier.give_back(frame);
  EXPECT_TRUE(tier.validate().is_ok());
}

}  // namespace
}  // namespace tessera
