// The mixing quality of a lane; tests/contract checks that drivers use it as specified.
#include "driver/fingerprint_lane.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <utility>

namespace tessera {
namespace {

struct Lane {
  std::uint64_t low = 0, high = 0;
};

std::pair<std::uint64_t, std::uint64_t> mixed(Lane lane, std::uint64_t index) {
  tessera_print sum{};
  tessera_print_add(&sum, lane.low, lane.high, index);
  return {sum.low, sum.high};
}

TEST(FingerprintLane, ChangesHalfOfItsBitsWithEachBit) {
  for (int bit = 0; bit < 128; ++bit) {
    int changed = 0;
    constexpr int kTries = 400;
    for (std::uint64_t i = 0; i < kTries; ++i) {
      // Mostly zero contents, as in weights and padding.
      const Lane lane{i % 3 == 0 ? 0 : i * 0x3f800000, i % 2 == 0 ? 0 : i};
      Lane other = lane;
      (bit < 64 ? other.low : other.high) ^= std::uint64_t{1} << (bit % 64);
      const auto a = mixed(lane, i * 977), b = mixed(other, i * 977);
      changed += std::popcount(a.first ^ b.first) + std::popcount(a.second ^ b.second);
    }
    const double part = changed / (128.0 * kTries);
    EXPECT_GT(part, 0.35) << "bit " << bit;
    EXPECT_LT(part, 0.65) << "bit " << bit;
  }
}

TEST(FingerprintLane, ChangesEachOfItsBits) {
  std::uint64_t ones_low = 0, ones_high = 0, zeros_low = 0, zeros_high = 0;
  const auto base = mixed({1, 2}, 5);
  for (int bit = 0; bit < 128; ++bit) {
    Lane other{1, 2};
    (bit < 64 ? other.low : other.high) ^= std::uint64_t{1} << (bit % 64);
    const auto got = mixed(other, 5);
    ones_low |= got.first ^ base.first;
    ones_high |= got.second ^ base.second;
    zeros_low |= ~(got.first ^ base.first);
    zeros_high |= ~(got.second ^ base.second);
  }
  EXPECT_EQ(ones_low & ones_high & zeros_low & zeros_high, ~std::uint64_t{0});
}

TEST(FingerprintLane, IsAnotherAtEachPlaceAndForEachContents) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  constexpr std::uint64_t kPlaces = 512, kContents = 64;
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    for (std::uint64_t i = 0; i < kContents; ++i) seen.insert(mixed({i, i % 8 == 0 ? 0 : ~i}, place));
  }
  EXPECT_EQ(seen.size(), kPlaces * kContents);
}

// Filling with another value changes every lane in the same way.
TEST(FingerprintLane, DistinguishesFills) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::uint64_t value = 0; value < 256; ++value) {
    tessera_print sum{};
    const std::uint64_t word = value * 0x0101010101010101U;
    for (std::uint64_t i = 0; i < 4096; ++i) tessera_print_add(&sum, word, word, i);
    seen.insert({sum.low, sum.high});
  }
  EXPECT_EQ(seen.size(), 256U);
}

}  // namespace
}  // namespace tessera
