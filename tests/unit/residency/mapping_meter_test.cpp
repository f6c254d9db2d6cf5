#include "residency/pages/mapping_meter.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Nanoseconds kMap{25'000}, kUnmap{16'000}, kTurn{300'000};

TEST(MappingMeter, KnowsNothingBeforeTheFirstMeasurement) {
  EXPECT_EQ(MappingMeter().per_page(), Nanoseconds());
  EXPECT_EQ(MappingMeter().copy_turn(), Nanoseconds());
}

TEST(MappingMeter, APageTakesItsMappingAndItsUnmap) {
  MappingMeter meter;
  meter.note_mapped(1, kMap, false);
  EXPECT_EQ(meter.per_page(), kMap);
  meter.note_mapped(4, kMap * 4, false);
  meter.note_unmapped(2, kUnmap * 2);
  EXPECT_EQ(meter.per_page(), kMap + kUnmap);
  EXPECT_EQ(meter.copy_turn(), Nanoseconds());
}

// A thread that is interrupted now and then says nothing about the driver.
TEST(MappingMeter, CallsThatTookLongNowAndThenDoNotCount) {
  MappingMeter meter;
  for (int i = 0; i < 60; ++i) {
    meter.note_mapped(1, i % 10 == 0 ? Nanoseconds(5'000'000) : kMap, false);
    meter.note_mapped(1, i % 10 == 0 ? Nanoseconds(5'000'000) : kMap + kTurn, true);
  }
  EXPECT_EQ(meter.per_page(), kMap);
  EXPECT_EQ(meter.copy_turn(), kTurn);
}

// Of a wait for what is left of a copy all lengths occur.
TEST(MappingMeter, TheWaitForCopiesIsNearItsLongest) {
  MappingMeter meter;
  meter.note_mapped(1, kMap, false);
  for (std::uint64_t i = 0; i < 64; ++i) meter.note_mapped(1, kMap + kTurn * i / 64, true);
  EXPECT_GT(meter.copy_turn(), kTurn * 3 / 4);
  EXPECT_LE(meter.copy_turn(), kTurn);
}

TEST(MappingMeter, WhereCopiesNeverEndTheFastestMappingCounts) {
  MappingMeter meter;
  for (std::uint64_t i = 0; i < 64; ++i) meter.note_mapped(1, i == 20 ? kMap : kMap + kTurn, true);
  EXPECT_EQ(meter.per_page(), kMap);
  EXPECT_EQ(meter.copy_turn(), kTurn);
}

TEST(MappingMeter, FollowsADriverThatChanges) {
  MappingMeter meter;
  for (int i = 0; i < 64; ++i) meter.note_mapped(1, kMap, false);
  for (int i = 0; i < 64; ++i) meter.note_mapped(1, kMap * 2, false);
  EXPECT_EQ(meter.per_page(), kMap * 2);
}

}  // namespace
}  // namespace tessera
