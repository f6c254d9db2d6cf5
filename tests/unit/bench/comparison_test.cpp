#include "comparison.hpp"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

// Whichever begins takes four times as long: both are equal, although no single round shows it.
TEST(MiddlePairTest, TheOrderOfMeasurementHasNoEffect) {
  const Times we_begin{4, 1}, it_begins{1, 4};
  const Times middle = middle_pair({we_begin, it_begins, we_begin, it_begins, we_begin, it_begins});
  EXPECT_DOUBLE_EQ(middle.ratio(), 1);
  EXPECT_DOUBLE_EQ(middle.ours, 2);
  EXPECT_DOUBLE_EQ(middle.reference, 2);
}

TEST(MiddlePairTest, TakesTheMiddlePairOfAnOddNumber) {
  const Times middle = middle_pair({{1, 9}, {1, 9}, {2, 1}, {2, 1}, {1, 5}, {1, 5}});
  EXPECT_DOUBLE_EQ(middle.ratio(), 5);
  EXPECT_DOUBLE_EQ(middle.ours, 1);
}

TEST(MiddlePairTest, TakesTheMiddleTwoOfAnEvenNumber) {
  const Times middle = middle_pair({{1, 1}, {1, 1}, {1, 4}, {1, 4}, {1, 100}, {1, 100}, {9, 1}, {9, 1}});
  EXPECT_DOUBLE_EQ(middle.ratio(), 2);
}

TEST(MiddlePairTest, TheSpeedsOfOneRoundAreNotThoseOfAnother) {
  const Times middle = middle_pair({{2, 8}, {2, 8}, {30, 10}, {30, 10}, {1, 3}, {1, 3}});
  EXPECT_DOUBLE_EQ(middle.reference / middle.ours, middle.ratio());
  EXPECT_DOUBLE_EQ(middle.ratio(), 3);
}

}  // namespace
}  // namespace tessera::bench
