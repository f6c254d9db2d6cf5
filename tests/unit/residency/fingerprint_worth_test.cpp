#include "residency/pages/fingerprint_worth.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

// The evictions of a page that changes each time: c = copied with a fingerprint, - = without, ? = checked.
std::string life_of_a_changing_page(int departures) {
  FingerprintHabit habit;
  bool asked_next = false;
  std::string life;
  for (int i = 0; i < departures; ++i) {
    if (asked_next) {
      habit.changed();
      asked_next = false;
      life += '?';
    } else {
      asked_next = habit.counts_copy();
      life += asked_next ? 'c' : '-';
    }
  }
  return life;
}

TEST(FingerprintHabit, AChangingPageIsCheckedAfterOneTwoFourCopies) {
  EXPECT_EQ(life_of_a_changing_page(19), "c?c?-c?---c?-------");
  const std::string life = life_of_a_changing_page(2000);
  std::size_t longest = 0;
  for (std::size_t at = 0, run = 0; at < life.size(); ++at) {
    run = life[at] == '-' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  EXPECT_EQ(longest, 63U) << "and one with a fingerprint: at most 64 copies in a row";
}

TEST(FingerprintHabit, AnUnchangedPageIsCheckedAgainAfterOneCopy) {
  FingerprintHabit habit;
  for (int i = 0; i < 5; ++i) habit.changed();
  habit.same();
  EXPECT_TRUE(habit.counts_copy());
  habit.changed();
  EXPECT_TRUE(habit.counts_copy()) << "after one copy";
}

TEST(FingerprintOdds, ChecksUntilRatesAreMeasured) {
  FingerprintOdds odds;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(odds.pays_to_ask(0, 1e9));
    EXPECT_TRUE(odds.pays_to_take(1e9, 0));
  }
}

TEST(FingerprintOdds, ACheckPaysWhileItCostsLessThanTheExpectedCopy) {
  FingerprintOdds odds;
  EXPECT_EQ(odds.chance(), 1.0);
  for (int i = 0; i < 64; ++i) odds.note(2_MiB, i % 4 == 0);  // 32 of 128 MiB, and 64 that are assumed
  EXPECT_DOUBLE_EQ(odds.chance(), 0.5);
  EXPECT_TRUE(odds.pays_to_ask(21e9, 10e9));
  EXPECT_FALSE(odds.pays_to_ask(19e9, 10e9));
  EXPECT_FALSE(odds.pays_to_take(19e9, 10e9));
}

TEST(FingerprintOdds, StillChecksOccasionallyWhenItDoesNotPay) {
  FingerprintOdds odds;
  int asked = 0, taken = 0;
  for (int i = 0; i < 6400; ++i) {
    asked += odds.pays_to_ask(1e9, 2e9) ? 1 : 0;
    taken += odds.pays_to_take(1e9, 2e9) ? 1 : 0;
  }
  EXPECT_EQ(asked, 1600);
  EXPECT_EQ(taken, 100);
}

TEST(FingerprintOdds, ForgetsOldOutcomes) {
  FingerprintOdds odds;
  for (int i = 0; i < 4096; ++i) odds.note(2_MiB, false);
  EXPECT_LT(odds.chance(), 0.05);
  for (int i = 0; i < 8192; ++i) odds.note(2_MiB, true);
  EXPECT_GT(odds.chance(), 0.9);
}

}  // namespace
}  // namespace tessera
