#include "rounded.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Rounded, SizesHaveAboutThreeDigits) {
  EXPECT_EQ(rounded_bytes(0), "0 B");
  EXPECT_EQ(rounded_bytes(1023), "1023 B");
  EXPECT_EQ(rounded_bytes(1536), "1.50 KiB");
  EXPECT_EQ(rounded_bytes(357ull << 20), "357 MiB");
  EXPECT_EQ(rounded_bytes(3ull << 50), "3072 TiB");
}

TEST(Rounded, TimesAreInTheUnitThatFits) {
  EXPECT_EQ(rounded_seconds(0.34), "340 ms");
  EXPECT_EQ(rounded_seconds(7.123), "7.12 s");
  EXPECT_EQ(rounded_seconds(603e-6), "603 us");
  EXPECT_EQ(rounded_seconds(0), "0.00 ms");
}

}  // namespace
