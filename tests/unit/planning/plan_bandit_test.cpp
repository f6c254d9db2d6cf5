#include "planning/plan_bandit.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

constexpr std::array kPredicted = {Nanoseconds(1000), Nanoseconds(1010), Nanoseconds(1020)};

// Two iterations of equal time.
bool takes(PlanBandit& bandit, std::uint64_t time) {
  EXPECT_FALSE(bandit.note(Nanoseconds(2 * time))) << "the first has to do with the strategy before";
  EXPECT_FALSE(bandit.note(Nanoseconds(time)));
  return bandit.note(Nanoseconds(time));
}

TEST(PlanBandit, BeginsWithTheShortest) {
  constexpr std::array predicted = {Nanoseconds(5), Nanoseconds(3), Nanoseconds(4)};
  EXPECT_EQ(PlanBandit(predicted).current(), 1u);
  EXPECT_EQ(PlanBandit(kPredicted).current(), 0u);
}

TEST(PlanBandit, KeepsACandidateThatMeetsItsPrediction) {
  PlanBandit bandit(kPredicted);
  EXPECT_FALSE(takes(bandit, 1005));
  EXPECT_FALSE(takes(bandit, 5000)) << "it is settled";
  EXPECT_EQ(bandit.current(), 0u);
}

TEST(PlanBandit, DropsACandidateWhoseMeanIsSlower) {
  for (const auto& [slow, drops] : {std::pair{1100u, true}, std::pair{1040u, false}}) {
    PlanBandit bandit(kPredicted);
    EXPECT_FALSE(takes(bandit, 1000));
    for (std::uint64_t i = 1; i < PlanBandit::kMany; ++i)
      EXPECT_FALSE(bandit.note(Nanoseconds(i % 2 == 0 ? slow : 1000)));
    EXPECT_EQ(bandit.note(Nanoseconds(slow)), drops) << "the next was predicted to take 1010, a fiftieth more is 1030";
  }
}

TEST(PlanBandit, TriesTheNextWhileItIsPredictedFaster) {
  PlanBandit bandit(kPredicted);
  EXPECT_TRUE(takes(bandit, 1025));
  EXPECT_EQ(bandit.current(), 1u);
  EXPECT_FALSE(takes(bandit, 1012)) << "the third was predicted to take longer";
  EXPECT_EQ(bandit.current(), 1u);
}

TEST(PlanBandit, SkipsCandidatesPredictedBarelyFaster) {
  PlanBandit bandit(kPredicted);
  EXPECT_FALSE(takes(bandit, 1019)) << "1010 was predicted, and a hundredth is no difference";
  EXPECT_EQ(bandit.current(), 0u);
}

TEST(PlanBandit, ReturnsToTheFastestWhenAllAreSlower) {
  PlanBandit bandit(kPredicted);
  EXPECT_TRUE(takes(bandit, 1100));
  EXPECT_TRUE(takes(bandit, 1200));
  EXPECT_TRUE(takes(bandit, 1300));
  EXPECT_EQ(bandit.current(), 0u);
  EXPECT_FALSE(takes(bandit, 9000));
}

TEST(PlanBandit, LosesToTheBaselineWhenTheCandidateIsSlower) {
  for (const auto& [took, loses] : {std::pair{1010u, false}, std::pair{1100u, true}}) {
    PlanBandit bandit(kPredicted);
    EXPECT_FALSE(bandit.measured_if_worse());
    bandit.set_baseline(Nanoseconds(1015));
    EXPECT_FALSE(bandit.measured_if_worse()) << "no candidate was tried";
    takes(bandit, took);
    EXPECT_EQ(bandit.measured_if_worse(), Nanoseconds(loses ? took : 0));
  }
}

TEST(PlanBandit, NeverLosesAfterAWin) {
  PlanBandit bandit(kPredicted);
  bandit.set_baseline(Nanoseconds(1015));
  EXPECT_FALSE(takes(bandit, 1010));
  for (std::uint64_t i = 0; i < 2 * PlanBandit::kMany; ++i) bandit.note(Nanoseconds(9000));
  EXPECT_FALSE(bandit.measured_if_worse());
}

TEST(PlanBandit, ANewBaselineIgnoresEarlierMeasurements) {
  PlanBandit bandit(kPredicted);
  EXPECT_FALSE(takes(bandit, 1005));
  bandit.set_baseline(Nanoseconds(900));
  EXPECT_FALSE(bandit.measured_if_worse());
  takes(bandit, 1005);
  EXPECT_EQ(bandit.measured_if_worse(), Nanoseconds(1005));
}

TEST(PlanBandit, ASingleCandidateIsNotIdleWhileItCompetes) {
  constexpr std::array one = {Nanoseconds(1000)};
  PlanBandit bandit(one);
  EXPECT_TRUE(bandit.is_idle());
  bandit.set_baseline(Nanoseconds(900));
  EXPECT_FALSE(bandit.is_idle());
  EXPECT_FALSE(takes(bandit, 1000));
  EXPECT_EQ(bandit.measured_if_worse(), Nanoseconds(1000));
}

TEST(PlanBandit, UsesTheMeanOfAnAlternatingCandidate) {
  for (const auto& [slow, drops] : {std::pair{1060u, true}, std::pair{1040u, false}}) {
    PlanBandit bandit(kPredicted);
    EXPECT_FALSE(bandit.note(Nanoseconds(5000)));
    for (std::uint64_t i = 1; i < PlanBandit::kMany; ++i) {
      EXPECT_FALSE(bandit.note(Nanoseconds(i % 2 == 0 ? slow : 992)));
    }
    EXPECT_EQ(bandit.note(Nanoseconds(slow)), drops) << "the next was predicted to take 1010";
  }
}

TEST(PlanBandit, AnInterruptionDiscardsTheMeasurement) {
  PlanBandit bandit(kPredicted);
  EXPECT_FALSE(bandit.note(Nanoseconds(1500)));
  bandit.interrupt();
  EXPECT_FALSE(bandit.note(Nanoseconds(1500)));
  EXPECT_TRUE(bandit.note(Nanoseconds(1500)));
}

TEST(PlanBandit, TriesNothingWithOneOrNoCandidate) {
  constexpr std::array one = {Nanoseconds(5)};
  PlanBandit bandit(one), none;
  EXPECT_FALSE(takes(bandit, 100));
  EXPECT_FALSE(takes(none, 100));
}

}  // namespace
}  // namespace tessera
