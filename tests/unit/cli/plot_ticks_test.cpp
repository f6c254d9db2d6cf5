#include "plot_ticks.hpp"

#include <gtest/gtest.h>

namespace {

TEST(PlotTicks, SecondsAreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_EQ(
      ticks_of_seconds(8),
      (Ticks{
          {0, "0"}, {1, "1 s"}, {2, "2 s"}, {3, "3 s"}, {4, "4 s"}, {5, "5 s"}, {6, "6 s"}, {7, "7 s"}, {8, "8 s"}}));
  const Ticks ticks = ticks_of_seconds(0.17);
  ASSERT_EQ(ticks.size(), 4u);
  EXPECT_EQ(ticks[1].second, "50 ms");
  EXPECT_EQ(ticks[3].second, "150 ms");
  EXPECT_EQ(ticks_of_seconds(0.00055).back().second, "500 us");
}

TEST(PlotTicks, BytesArePowersOfTwoApart) {
  const double gibibyte = 1 << 30;
  EXPECT_EQ(ticks_of_bytes(3 * gibibyte),
            (Ticks{{0, "0"}, {gibibyte, "1 GiB"}, {2 * gibibyte, "2 GiB"}, {3 * gibibyte, "3 GiB"}}));
  EXPECT_EQ(ticks_of_bytes(2 * gibibyte, "/s")[1], (std::pair<double, std::string>(gibibyte / 2, "512 MiB/s")));
}

TEST(PlotTicks, SharesAreOfOne) {
  EXPECT_EQ(ticks_of_shares(1), (Ticks{{0, "0 %"}, {0.25, "25 %"}, {0.5, "50 %"}, {0.75, "75 %"}, {1, "100 %"}}));
}

}  // namespace
