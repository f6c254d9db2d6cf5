#include "lab/replay/trace.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Trace, HasOneDeviceUnlessItNamesMore) {
  Trace trace;
  EXPECT_EQ(trace.devices(), 1U);
  trace.blocks.push_back({.id = 1, .bytes = 1_MiB, .device = 2, .recompute = {}});
  EXPECT_EQ(trace.devices(), 3U);
}

TEST(Trace, AnOperandWithoutPartsUsesAllOfItsBlock) {
  Trace trace;
  trace.parts = {{2, 0_B, 1_B}, {2, 4_B, 1_B}, {5, 0_B, 1_B}};
  EXPECT_EQ(trace.parts_of(2).size(), 2U);
  EXPECT_EQ(trace.parts_of(5).size(), 1U);
  EXPECT_TRUE(trace.parts_of(3).empty());
}

}  // namespace
}  // namespace tessera
