#include "block/bundle.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

constexpr Bytes kBertWeight = 2304_KiB;

Bundle bundle_of(Bytes bytes) { return Bundle(bytes, StreamId(1), TagId(2)); }

TEST(BundleBytes, FillWholePagesBest) {
  EXPECT_EQ(Bundle::bytes_for(kBertWeight, 18_MiB), 18_MiB);  // eight, to the last byte
  EXPECT_EQ(Bundle::bytes_for(kBertWeight, 16_MiB), 16_MiB);  // seven
  EXPECT_EQ(Bundle::bytes_for(3_MiB, 18_MiB), 6_MiB);         // a larger bundle would waste as much
  EXPECT_EQ(Bundle::bytes_for(9_MiB, 18_MiB), 18_MiB);
}

TEST(BundleBytes, AreThoseOfOneBlockWhenMoreIsNotAllowed) {
  EXPECT_EQ(Bundle::bytes_for(kBertWeight, Bytes()), 4_MiB);
  EXPECT_EQ(Bundle::bytes_for(kBertWeight, 4_MiB), 4_MiB);
  EXPECT_EQ(Bundle::bytes_for(10_MiB + 1_B, 18_MiB), 12_MiB);
}

TEST(BundleBytes, AreNeverLessThanTheBlockNorMoreThanAllowed) {
  for (Bytes block = kSlotLimit + 1_B; block <= Bundle::kLargestBlock; block += 99'991_B) {
    for (const Bytes most : {Bytes(), 7_MiB, Bundle::kMostBurstBytes}) {
      const Bytes bytes = Bundle::bytes_for(block, most);
      EXPECT_EQ(bytes % kBasePage, Bytes());
      EXPECT_GE(bytes, Bundle::place_bytes(block));
      EXPECT_LE(bytes, std::max(most, round_up(block, kBasePage)));
    }
  }
}

TEST(Bundle, IsForBlocksThatLoseMuchInPagesOfTheirOwn) {
  for (const Bytes bytes : {kSlotLimit + 1_B, 1536_KiB, kBertWeight, 9_MiB, 15_MiB}) EXPECT_TRUE(Bundle::is_for(bytes));
  for (const Bytes bytes : {kSlotLimit, 2_MiB, 4_MiB, 15_MiB + 800_KiB, 16_MiB, 17_MiB}) {
    EXPECT_FALSE(Bundle::is_for(bytes));
  }
}

TEST(Bundle, KnowsThePlaceOfEveryByte) {
  Bundle bundle = bundle_of(18_MiB);
  EXPECT_FALSE(bundle.place_at(Bytes()));
  const Bytes sizes[] = {3_MiB, 1_MiB + 512_B, 9_MiB, 2_MiB};
  Bytes offset;
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(bundle.append(sizes[n]), n);
    EXPECT_EQ(bundle.offset(n), offset);
    EXPECT_EQ(bundle.capacity(n), sizes[n]);
    offset += sizes[n];
  }
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(bundle.place_at(bundle.offset(n)), n);
    EXPECT_EQ(bundle.place_at(bundle.offset(n) + sizes[n] - 1_B), n);
  }
  EXPECT_FALSE(bundle.place_at(offset));
  EXPECT_EQ(bundle.room(), 18_MiB - offset);
}

TEST(Bundle, HasAWordForEachPlaceThereCanBe) {
  EXPECT_EQ(Bundle::kMostPlaces, 63u);
  EXPECT_EQ(bundle_of(2_MiB).words().size(), 1u);
  EXPECT_EQ(bundle_of(Bundle::kMostBytes).words().size(), Bundle::kMostPlaces);
  Bundle bundle = bundle_of(64_MiB);
  while (bundle.room() > kSlotLimit) bundle.append(kSlotLimit + kBlockAlignment);
  EXPECT_EQ(bundle.places(), Bundle::kMostPlaces);
  EXPECT_EQ(bundle.words().size(), Bundle::kMostPlaces);
  EXPECT_TRUE(bundle.validate().is_ok());
}

TEST(Bundle, APlannedBundleHasAllItsPlaces) {
  Bundle bundle(7, std::vector{3_MiB, 5_MiB + 512_B, 2_MiB}, StreamId(1), TagId(2));
  EXPECT_EQ(bundle.planned, 7u);
  EXPECT_EQ(bundle.bytes(), 12_MiB);
  EXPECT_EQ(bundle.places(), 3u);
  EXPECT_EQ(bundle.place_at(8_MiB + 511_B), 1u);
  EXPECT_EQ(bundle.place_at(8_MiB + 512_B), 2u);
  EXPECT_EQ(bundle.place_at(10_MiB + 512_B), std::nullopt);
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_TRUE(bundle.validate().is_ok());
}

TEST(Bundle, IsEmptyWhenAllPlacesAreFree) {
  Bundle bundle = bundle_of(18_MiB);
  EXPECT_TRUE(bundle.is_empty());
  bundle.append(3_MiB);
  bundle.append(4_MiB);
  bundle.give(1);
  EXPECT_FALSE(bundle.is_empty());
  bundle.give(0);
  EXPECT_TRUE(bundle.is_empty());
  bundle.take(1);
  EXPECT_FALSE(bundle.is_empty());
  EXPECT_TRUE(bundle.is_free(0));
}

TEST(Bundle, ALivePlaceThatIsFreeIsInvalid) {
  Bundle bundle = bundle_of(18_MiB);
  bundle.append(3_MiB);
  bundle.word(0).begin(Bytes());
  EXPECT_TRUE(bundle.validate().is_ok());
  bundle.give(0);
  EXPECT_EQ(bundle.validate().code(), Code::kInternal);
}

}  // namespace
}  // namespace tessera
