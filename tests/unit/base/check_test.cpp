#include "base/check.hpp"

#include <gtest/gtest.h>

#include "base/units.hpp"

namespace tessera {
namespace {

TEST(CheckDeathTest, AFailurePrintsThePlaceTheExpressionAndBothOperands) {
  EXPECT_DEATH(check::fail("a == b", "file.cpp", 12, 2, 0x30), "file.cpp:12: check failed: a == b \\(0x2, 0x30\\)");
}

TEST(CheckDeathTest, ABrokenComparisonEndsACheckedBuild) {
  if (!kTesseraChecked) GTEST_SKIP() << "assertions are off in this build";
  const Bytes used = 3_B;
  EXPECT_DEATH(DCHECK_LE(used, 2_B), "used <= 2_B \\(0x3, 0x2\\)");
  EXPECT_DEATH(DCHECK(used == 2_B), "check failed: used == 2_B");
}

TEST(Check, ATrueConditionPassesSilently) {
  DCHECK(true);
  DCHECK_EQ(1, 1);
  DCHECK_NE(1_MiB, 2_MiB);
  DCHECK_LT(1, 2);
  DCHECK_GE(2, 2);
  DCHECK_GT(3u, 2u);
  DCHECK_SLOW(true);
}

TEST(Check, OperandsOfAnyTypeHaveAPrintableForm) {
  EXPECT_EQ(check::printable(7), 7u);
  EXPECT_EQ(check::printable(2_KiB), 2048u);
  EXPECT_EQ(check::printable("text"), 0u);
}

}  // namespace
}  // namespace tessera
