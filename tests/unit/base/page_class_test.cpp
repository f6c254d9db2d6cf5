#include "base/page_class.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PageClass, ALargePageIsAWholeNumberOfBasePages) {
  EXPECT_EQ(kBasePage * kBasePerLarge, kLargePage);
  for (const PageClass page_class : kPageClasses) {
    EXPECT_EQ(kPageClasses[index_of(page_class)], page_class);
  }
}

TEST(PageClass, AShapeWastesLessThanOneBasePage) {
  for (std::uint64_t bytes = 1; bytes < (130_MiB).value(); bytes += 777'777) {
    const RunShape shape = shape_for(Bytes(bytes));
    EXPECT_GE(shape.bytes(), Bytes(bytes));
    EXPECT_LT(shape.bytes() - Bytes(bytes), kBasePage);
    EXPECT_LT(shape.base, kBasePerLarge);
  }
}

TEST(PageClass, LargePagesComeFirstInARun) {
  const RunShape shape = shape_for(70_MiB);
  EXPECT_EQ(shape, (RunShape{2, 3}));
  EXPECT_EQ(shape.pages(), 5u);
  EXPECT_EQ(shape.page_class(1), PageClass::kLarge);
  EXPECT_EQ(shape.page_class(2), PageClass::kBase);
}

TEST(PageClass, OffsetsOfPagesFollowEachOtherWithoutGaps) {
  const RunShape shape = shape_for(70_MiB);
  Bytes expected;
  for (std::uint32_t page = 0; page < shape.pages(); ++page) {
    EXPECT_EQ(shape.offset(page), expected);
    expected += page_bytes(shape.page_class(page));
  }
  EXPECT_EQ(shape.bytes(), expected);
}

TEST(PageClass, NothingNeedsNoPages) { EXPECT_EQ(shape_for(0_B).pages(), 0u); }

}  // namespace
}  // namespace tessera
