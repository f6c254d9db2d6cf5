#include "block_layers.hpp"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

Occupation holding(Bytes held, Bytes repacked) {
  Occupation is{};
  is.held = held;
  is.repacked = repacked;
  return is;
}

TEST(OccupationTest, WhatRepackingWinsIsAFractionOfWhatIsHeld) {
  EXPECT_DOUBLE_EQ(holding(8_MiB, 6_MiB).won(), 0.25);
  EXPECT_DOUBLE_EQ(holding(8_MiB, 8_MiB).won(), 0);
}

TEST(OccupationTest, PagesOfOneClassEachMayHoldMoreThanSharedOnes) {
  EXPECT_DOUBLE_EQ(holding(4_MiB, 6_MiB).won(), -0.5);
}

}  // namespace
}  // namespace tessera::bench
