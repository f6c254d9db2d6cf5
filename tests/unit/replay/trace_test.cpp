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

}  // namespace
}  // namespace tessera
