#include "tier/transfer_queue.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace tessera {
namespace {

// The queue never accesses the bytes: any aligned address will do.
void* const kHost = reinterpret_cast<void*>(std::uintptr_t{1} << 40);

class TransferQueueTest : public ::testing::Test {
 protected:
  IoTicket start(bool writing, Bytes bytes) { return queue_.start(writing, kHost, bytes, 8_MiB).take(); }

  SteadyClock clock_;
  TransferQueue queue_{"/d", clock_, QueueDepth(2)};
};

TEST_F(TransferQueueTest, ATransferIsCutIntoChunksThatCoverIt) {
  const IoTicket ticket = start(true, 2_MiB + 4_KiB);
  const auto first = queue_.next(true), second = queue_.next(true);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(queue_.next(true)) << "two are in flight";
  EXPECT_EQ(queue_.in_flight(), 2u);
  EXPECT_FALSE(queue_.end(*first, 0));
  const auto third = queue_.next(true);
  ASSERT_TRUE(third);
  EXPECT_EQ(first->offset, 8_MiB);
  EXPECT_EQ(second->offset, 9_MiB);
  EXPECT_EQ(third->offset, 10_MiB);
  EXPECT_EQ(third->bytes, 4_KiB);
  EXPECT_EQ(third->host, static_cast<std::byte*>(kHost) + (2_MiB).value());
  EXPECT_FALSE(queue_.end(*third, 0));
  EXPECT_EQ(queue_.take_outcome(ticket).code(), Code::kNotReady);
  EXPECT_TRUE(queue_.end(*second, 0));
  EXPECT_TRUE(queue_.take_outcome(ticket).is_ok());
  EXPECT_EQ(queue_.take_outcome(ticket).code(), Code::kInvalidArgument);
}

TEST_F(TransferQueueTest, EachDirectionHasADepthOfItsOwn) {
  start(true, 8_MiB);
  start(false, 1_MiB);
  while (queue_.next(true)) continue;
  EXPECT_TRUE(queue_.next(false));
}

TEST_F(TransferQueueTest, AFailedTransferIsOverOnceWhatIsInFlightHasEnded) {
  const IoTicket ticket = start(true, 8_MiB);
  const auto first = queue_.next(true), second = queue_.next(true);
  EXPECT_FALSE(queue_.end(*first, ENOSPC));
  EXPECT_FALSE(queue_.next(true)) << "the rest of it is not begun";
  EXPECT_TRUE(queue_.end(*second, EIO));
  const Status outcome = queue_.take_outcome(ticket);
  EXPECT_EQ(outcome.code(), Code::kIo);
  EXPECT_EQ(outcome.message(),
            "spill directory /d: writing of 1048576 bytes at 8388608 failed: No space left on device");
}

TEST_F(TransferQueueTest, DroppedChunksAreNeverStarted) {
  start(false, 8_MiB);
  ASSERT_TRUE(queue_.next(false));
  queue_.drop_waiting();
  EXPECT_FALSE(queue_.next(false));
  EXPECT_EQ(queue_.in_flight(), 1u);
}

TEST_F(TransferQueueTest, AChunkGetsOnInWholeBlocks) {
  Chunk chunk{.host = static_cast<std::byte*>(kHost), .offset = 1_MiB, .bytes = 16_KiB};
  EXPECT_FALSE(chunk.advance(0));
  EXPECT_FALSE(chunk.advance(4095));
  EXPECT_TRUE(chunk.advance(8193));
  EXPECT_EQ(chunk.left(), 8_KiB);
  EXPECT_EQ(chunk.next_offset(), 1_MiB + 8_KiB);
  EXPECT_EQ(chunk.next_host(), static_cast<std::byte*>(kHost) + 8192);
}

}  // namespace
}  // namespace tessera
