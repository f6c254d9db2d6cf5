#include "sim/pace.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(Pace, AQuarterOfTheProcessorsIsItsShare) {
  EXPECT_DOUBLE_EQ(Pace::share_of(2, 1), 0.5);
  EXPECT_DOUBLE_EQ(Pace::share_of(4, 1), 1);
  EXPECT_DOUBLE_EQ(Pace::share_of(8, 2), 1);
  EXPECT_DOUBLE_EQ(Pace::share_of(256, 4), 1);
  EXPECT_GT(Pace::share_of(0.01, 1), 0);
}

TEST(Pace, TakesLittleWhenTheProgramUsesAllProcessors) {
  EXPECT_DOUBLE_EQ(Pace::share_of(0.1, 1), 0.003125);
  EXPECT_DOUBLE_EQ(Pace::share_of(0.5, 1), 0.015625);
  EXPECT_DOUBLE_EQ(Pace::share_of(1, 1), 0.03125);
  EXPECT_DOUBLE_EQ(Pace::share_of(1.25, 1), 0.25);
}

TEST(Pace, SleepsInProportionToItsShare) {
  const std::atomic<bool> stop{false};
  EXPECT_EQ(Pace(1, stop).rest_after(milliseconds(100)), nanoseconds(0));
  EXPECT_EQ(Pace(0.5, stop).rest_after(milliseconds(100)), milliseconds(100));
  EXPECT_EQ(Pace(0.125, stop).rest_after(milliseconds(100)), milliseconds(700));
}

TEST(Pace, StoppingEndsTheRest) {
  const std::atomic<bool> stop{true};
  const Pace pace(1e-12, stop);  // its pauses would take years
  const Pace::Turn turn(pace);
}

}  // namespace
}  // namespace tessera
