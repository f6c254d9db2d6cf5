#include "block/size_class.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

TEST(SizeClass, IsTheSmallestThatHoldsTheBytes) {
  for (std::uint64_t bytes = 1; bytes <= kSlotLimit.value(); bytes += bytes < 20000 ? 1 : 97) {
    const auto found = size_class_for(Bytes(bytes));
    ASSERT_TRUE(found && found->is_slot());
    const auto expected = std::lower_bound(kSlotBytes.begin(), kSlotBytes.end(), Bytes(bytes));
    ASSERT_EQ(found->index, expected - kSlotBytes.begin()) << bytes;
  }
}

TEST(SizeClass, SlotsAreAlignedAndGrowByAQuarterAtMost) {
  for (std::size_t i = 0; i < kSlotBytes.size(); ++i) {
    EXPECT_EQ(kSlotBytes[i] % kBlockAlignment, Bytes());
    if (i >= 4) {
      EXPECT_LE(4 * kSlotBytes[i], 5 * kSlotBytes[i - 1]);
    }
  }
}

TEST(SizeClass, AboveOneMebibyteItIsTheNumberOfBasePages) {
  EXPECT_EQ(size_class_for(1_MiB)->bytes(), 1_MiB);
  EXPECT_TRUE(size_class_for(1_MiB)->is_slot());
  EXPECT_EQ(size_class_for(1_MiB + 1_B)->bytes(), 2_MiB);
  EXPECT_FALSE(size_class_for(1_MiB + 1_B)->is_slot());
  EXPECT_EQ(size_class_for(2_MiB)->bytes(), 2_MiB);
  EXPECT_EQ(size_class_for(2_MiB + 1_B)->bytes(), 4_MiB);
  EXPECT_EQ(size_class_for(1_TiB)->bytes(), 1_TiB);
}

TEST(SizeClass, ZeroAndTooManyBytesHaveNoClass) {
  EXPECT_FALSE(size_class_for(Bytes()));
  EXPECT_TRUE(size_class_for(kLargestBlock));
  EXPECT_FALSE(size_class_for(kLargestBlock + 1_B));
  EXPECT_FALSE(size_class_for(Bytes(~std::uint64_t{0})));
}

}  // namespace
}  // namespace tessera
