#include "residency/eviction/spare_room.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Nanoseconds kMillisecond{1'000'000};
constexpr Bytes kDevice = 16_GiB;

// A copy of this duration, recorded often enough for the mean.
SpareRoom with_copies_of(Nanoseconds time) {
  SpareRoom spare;
  for (int i = 0; i < 64; ++i) spare.note_copy(time);
  return spare;
}

TEST(SpareRoom, KeepsNothingFreeWithoutEvictions) {
  SpareRoom spare = with_copies_of(kMillisecond * 10);
  EXPECT_EQ(spare.low(kDevice, kMillisecond * 5000), Bytes());
  spare.note_leaving(64_MiB, kMillisecond * 5000);
  EXPECT_EQ(spare.low(kDevice, kMillisecond * 5000 + SpareRoom::kWindow * 2), Bytes()) << "it has ended";
}

TEST(SpareRoom, CoversTheBytesEvictedDuringOneCopyOut) {
  SpareRoom spare = with_copies_of(kMillisecond * 10);
  for (int i = 0; i < 64; ++i) spare.note_wait(kMillisecond * 10);
  for (std::uint64_t ms = 0; ms < 3000; ++ms) spare.note_leaving(2_MiB, kMillisecond * ms);
  const Bytes low = spare.low(kDevice, kMillisecond * 3000);
  EXPECT_GT(low, 36_MiB) << "2 MiB in a millisecond, for 20";
  EXPECT_LT(low, 44_MiB);
}

TEST(SpareRoom, IsASmallPartOfTheDeviceAtMost) {
  SpareRoom spare = with_copies_of(kMillisecond * 1000);
  spare.note_leaving(8_GiB, kMillisecond);
  EXPECT_EQ(spare.low(kDevice, kMillisecond), kDevice / SpareRoom::kMostPart);
  EXPECT_EQ(spare.low(16_MiB, kMillisecond), Bytes()) << "less than a page";
}

}  // namespace
}  // namespace tessera
