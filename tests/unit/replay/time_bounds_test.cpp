#include "lab/replay/time_bounds.hpp"

#include <gtest/gtest.h>

#include "trace_text.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Memory for one of two blocks, and links on which a block takes a second.
ReplayOptions one_block() {
  ReplayOptions options;
  options.device_memory = Bytes(10);
  options.host_memory = Bytes(100);
  options.h2d = options.d2h = 10;
  return options;
}

// Each block is written, then each is read.
Trace two_blocks(std::uint64_t nanoseconds) {
  return trace_of(alloc_line(1, Bytes(10)) + alloc_line(2, Bytes(10)) + op_line(nanoseconds, "w", 1) +
                  op_line(nanoseconds, "w", 2) + op_line(nanoseconds, "r", 1) + op_line(nanoseconds, "r", 2));
}

TEST(TimeBounds, TheSlowestOfTheDeviceAndItsLinksCounts) {
  EXPECT_EQ(lower_bound(two_blocks(1), one_block(), Nanoseconds(4)), Nanoseconds(2 * kSecond));
  EXPECT_EQ(lower_bound(two_blocks(kSecond), one_block(), Nanoseconds(4 * kSecond)), Nanoseconds(4 * kSecond));
}

TEST(TimeBounds, TheDiskCountsBeyondTheHost) {
  ReplayOptions options = one_block();
  options.host_memory = {};
  options.file_read = 1;
  options.file_write = 1'000;
  EXPECT_EQ(lower_bound(two_blocks(1), options, Nanoseconds(4)), Nanoseconds(20 * kSecond));
}

TEST(TimeBounds, AmpleMemoryLeavesTheComputeTime) {
  ReplayOptions options = one_block();
  options.device_memory = Bytes(20);
  EXPECT_EQ(lower_bound(two_blocks(3), options, Nanoseconds(12)), Nanoseconds(12));
  EXPECT_EQ(pass_lower_bound(two_blocks(3), options, 2, 1), Nanoseconds(6));
}

TEST(TimeBounds, APassIsTheAverageOfThePassesThatTheTraceEndsWith) {
  // Two passes of one operation each fetch twenty bytes; a pass of two operations does so alone.
  EXPECT_EQ(pass_lower_bound(two_blocks(1), one_block(), 1, 2), Nanoseconds(kSecond));
  EXPECT_EQ(pass_lower_bound(two_blocks(1), one_block(), 2, 1), Nanoseconds(2 * kSecond));
}

// Two blocks more than fit are written in sequence, and read in reverse order.
Trace there_and_back(std::uint64_t nanoseconds) {
  std::string text;
  for (unsigned block = 1; block <= 3; ++block) text += alloc_line(block, Bytes(10));
  for (unsigned block = 1; block <= 3; ++block) text += op_line(nanoseconds, "w", block);
  for (unsigned block = 3; block >= 1; --block) text += op_line(nanoseconds, "r", block);
  return trace_of(text);
}

TEST(TimeBounds, BlocksWithoutRoomAtTheTurnAreCopiedOutAndFetched) {
  EXPECT_EQ(lower_bound(there_and_back(1), one_block(), Nanoseconds(6)), Nanoseconds(4 * kSecond));
  EXPECT_EQ(pass_lower_bound(there_and_back(1), one_block(), 6, 1), Nanoseconds(4 * kSecond));
  // The copies out are hidden by three seconds of computation before the turn, the fetches by those after it.
  EXPECT_EQ(lower_bound(there_and_back(kSecond), one_block(), Nanoseconds(6 * kSecond)), Nanoseconds(6 * kSecond));
}

TEST(TimeBounds, BlocksWrittenBeforeThePassNeedNoCopyOut) {
  // The pass is the three reads: two blocks are fetched, and nothing was written that could be copied out.
  EXPECT_EQ(pass_lower_bound(there_and_back(1), one_block(), 3, 1), Nanoseconds(2 * kSecond));
}

}  // namespace
}  // namespace tessera
