#include "timing.hpp"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

TEST(MedianTest, IsTheMiddleOfAnOddNumberAndBetweenTheMiddleTwoOfAnEvenOne) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({1, 9}), 5);
  EXPECT_EQ(median({8, 1, 100, 2}), 5);
}

}  // namespace
}  // namespace tessera::bench
