#include "residency/pages/file_meter.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Nanoseconds at(std::uint64_t ms) { return Nanoseconds(ms * 1'000'000); }

TEST(FileMeter, HasNoRateBeforeATransfer) { EXPECT_EQ(FileMeter().rate(), 0); }

TEST(FileMeter, CountsTheTimeInWhichAnyTransferIsInFlight) {
  FileMeter meter;
  meter.begin(at(0));
  meter.begin(at(5));
  meter.end(32_MiB, at(10));
  EXPECT_EQ(meter.rate(), 0);  // the other is in flight
  meter.end(32_MiB, at(20));
  EXPECT_DOUBLE_EQ(meter.rate(), 64.0 * 1024 * 1024 / 0.020);
  meter.begin(at(1000));  // idle time between does not count
  meter.end(64_MiB, at(1020));
  EXPECT_DOUBLE_EQ(meter.rate(), 64.0 * 1024 * 1024 / 0.020);
}

TEST(FileMeter, ReportsARateDuringUninterruptedTransfers) {
  FileMeter meter;
  meter.begin(at(0));
  for (std::uint64_t i = 1; i <= 8; ++i) {
    meter.begin(at(10 * i));
    meter.end(32_MiB, at(10 * i));
  }
  EXPECT_DOUBLE_EQ(meter.rate(), 32.0 * 1024 * 1024 / 0.010);
}

TEST(FileMeter, IgnoresASmallTransfer) {
  FileMeter meter;
  meter.begin(at(0));
  meter.end(2_MiB, at(1000));
  EXPECT_EQ(meter.rate(), 0);
}

// A caller that polls rarely sees many completions at once, and none in between.
TEST(FileMeter, CompletionsSeenTogetherGiveTheSameRate) {
  FileMeter meter;
  std::uint64_t in_flight = 0;
  for (std::uint64_t look = 0; look <= 40; ++look) {
    for (; in_flight > 0; --in_flight) meter.end(16_MiB, at(100 * look));
    for (; in_flight < 10; ++in_flight) meter.begin(at(100 * look));  // transfers that take the whole time until then
  }
  EXPECT_NEAR(meter.rate(), 160.0 * 1024 * 1024 / 0.100, 1e7);
}

TEST(FileMeter, ForgetsOldTransfers) {
  FileMeter meter;
  std::uint64_t now = 0;
  const auto carry = [&](std::uint64_t ms) {
    meter.begin(at(now));
    meter.end(1_GiB, at(now += ms));
  };
  for (int i = 0; i < 8; ++i) carry(100);
  const double fast = meter.rate();
  carry(200);
  EXPECT_LT(meter.rate(), fast);
  EXPECT_GT(meter.rate(), fast * 0.6);
  for (int i = 0; i < 100; ++i) carry(200);
  EXPECT_NEAR(meter.rate(), fast / 2, fast / 100);
}

}  // namespace
}  // namespace tessera
