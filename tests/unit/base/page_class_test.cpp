#include "base/page_class.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PageClass, EachClassIsTwiceTheOneBefore) {
  Bytes expected = kBasePage;
  for (const PageClass page_class : kPageClasses) {
    EXPECT_EQ(kPageClasses[index_of(page_class)], page_class);
    EXPECT_EQ(page_bytes(page_class), expected);
    EXPECT_EQ(class_of(expected), page_class);
    expected = expected * 2;
  }
  EXPECT_EQ(page_bytes(PageClass::kBase), kBasePage);
  EXPECT_EQ(page_bytes(PageClass::kLarge), kLargePage);
  EXPECT_EQ(kBasePage * kBasePerLarge, kLargePage);
}

TEST(PageClass, AShapeWastesLessThanOneBasePage) {
  for (std::uint64_t bytes = 1; bytes < (130_MiB).value(); bytes += 777'777) {
    const RunShape shape = shape_for(Bytes(bytes));
    EXPECT_GE(shape.bytes(), Bytes(bytes));
    EXPECT_LT(shape.bytes() - Bytes(bytes), kBasePage);
    EXPECT_LT(shape.tail(), kBasePerLarge);
  }
}

TEST(PageClass, PagesDescendInARun) {
  const RunShape shape = shape_for(90_MiB);
  EXPECT_EQ(shape, (RunShape{.large = 2, .base = 1, .between = {1, 1, 0}}));
  EXPECT_EQ(shape.pages(), 5u);
  const PageClass expected[] = {PageClass::kLarge, PageClass::kLarge, PageClass::k16MiB, PageClass::k8MiB,
                                PageClass::kBase};
  for (std::uint32_t page = 0; page < shape.pages(); ++page) EXPECT_EQ(shape.page_class(page), expected[page]);
}

TEST(PageClass, EverySmallerClassOccursAtMostOnceInARun) {
  for (Bytes bytes = kBasePage; bytes <= 3 * kLargePage; bytes += kBasePage) {
    const RunShape shape = shape_for(bytes);
    for (std::uint32_t page = 1; page < shape.pages(); ++page) {
      const PageClass before = shape.page_class(page - 1), own = shape.page_class(page);
      EXPECT_TRUE(own < before || (own == before && own == PageClass::kLarge)) << bytes.value() << " page " << page;
    }
  }
}

TEST(PageClass, OffsetsOfPagesFollowEachOtherWithoutGaps) {
  for (Bytes bytes = kBasePage; bytes <= 3 * kLargePage; bytes += kBasePage) {
    const RunShape shape = shape_for(bytes);
    Bytes expected;
    for (std::uint32_t page = 0; page < shape.pages(); ++page) {
      EXPECT_EQ(shape.offset(page), expected);
      expected += page_bytes(shape.page_class(page));
    }
    EXPECT_EQ(shape.bytes(), expected);
  }
}

TEST(PageClass, AShapeMayHaveAnyNumberOfEachClass) {
  const RunShape shape{.large = 1, .base = 3, .between = {0, 2, 1}};
  EXPECT_EQ(shape.pages(), 7u);
  EXPECT_EQ(shape.bytes(), 58_MiB);
  EXPECT_EQ(shape.tail(), 13u);
  EXPECT_EQ(shape.page_class(2), PageClass::k8MiB);
  EXPECT_EQ(shape.offset(3), 48_MiB);
  EXPECT_EQ(shape.page_class(6), PageClass::kBase);
  EXPECT_EQ(shape.offset(6), 56_MiB);
}

TEST(PageClass, APartOfARunIsItsLastPages) {
  EXPECT_EQ(last_pages(22_MiB, 1_MiB), 2_MiB);
  EXPECT_EQ(last_pages(22_MiB, 3_MiB), 6_MiB) << "2 and 4 of 16, 4 and 2";
  EXPECT_EQ(last_pages(22_MiB, 7_MiB), 22_MiB);
  EXPECT_EQ(last_pages(22_MiB, 100_MiB), 22_MiB);
  EXPECT_EQ(last_pages(96_MiB, 33_MiB), 64_MiB);
  EXPECT_EQ(last_pages(22_MiB, 0_B), 0_B);
}

TEST(PageClass, NothingNeedsNoPages) { EXPECT_EQ(shape_for(0_B).pages(), 0u); }

}  // namespace
}  // namespace tessera
