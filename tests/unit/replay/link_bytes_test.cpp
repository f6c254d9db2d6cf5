#include "lab/replay/link_bytes.hpp"

#include <gtest/gtest.h>

#include "lab/replay/link_slices.hpp"

namespace tessera {
namespace {

SimWork copy_of(std::uint64_t bytes) {
  SimWork work;
  work.ranges = {{0x1000, bytes}, {0x9000, bytes}};
  return work;
}

TEST(LinkBytes, EachLinkCountsItsOwnAndComputingNone) {
  LinkBytes bytes;
  const Nanoseconds begin, end(5);
  bytes.ran(DeviceId(0), SimEngine::kInbound, copy_of(10), begin, end);
  bytes.ran(DeviceId(1), SimEngine::kInbound, copy_of(20), begin, end);
  bytes.ran(DeviceId(0), SimEngine::kOutbound, copy_of(3), begin, end);
  bytes.ran(DeviceId(0), SimEngine::kPeerIn, copy_of(4), begin, end);
  bytes.ran(DeviceId(0), SimEngine::kPeerOut, copy_of(5), begin, end);
  bytes.ran(DeviceId(0), SimEngine::kCompute, copy_of(1000), begin, end);
  EXPECT_EQ(bytes.sums().in, 30_B);
  EXPECT_EQ(bytes.sums().out, 3_B);
  EXPECT_EQ(bytes.sums().peer_in, 4_B);
  EXPECT_EQ(bytes.sums().peer_out, 5_B);
}

TEST(LinkBytes, ForwardsToASecondListener) {
  LinkBytes bytes;
  LinkSlices slices;
  bytes.pass_on_to(&slices);
  bytes.ran(DeviceId(0), SimEngine::kInbound, copy_of(10), Nanoseconds(1), Nanoseconds(5));
  ASSERT_EQ(slices.slices().size(), 1U);
  EXPECT_EQ(slices.slices().front().bytes, 10_B);
}

}  // namespace
}  // namespace tessera
