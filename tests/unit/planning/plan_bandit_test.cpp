#include "planning/plan_bandit.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

constexpr std::array kTold = {Nanoseconds(1000), Nanoseconds(1010), Nanoseconds(1020)};

// Two iterations of equal time.
bool takes(PlanBandit& trial, std::uint64_t time) {
  EXPECT_FALSE(trial.note(Nanoseconds(2 * time))) << "the first has to do with the strategy before";
  EXPECT_FALSE(trial.note(Nanoseconds(time)));
  return trial.note(Nanoseconds(time));
}

TEST(PlanBandit, BeginsWithTheShortest) {
  constexpr std::array told = {Nanoseconds(5), Nanoseconds(3), Nanoseconds(4)};
  EXPECT_EQ(PlanBandit(told).current(), 1u);
  EXPECT_EQ(PlanBandit(kTold).current(), 0u);
}

TEST(PlanBandit, StaysWithWhatTakesAsLongAsItWasTold) {
  PlanBandit trial(kTold);
  EXPECT_FALSE(takes(trial, 1005));
  EXPECT_FALSE(takes(trial, 5000)) << "it is settled";
  EXPECT_EQ(trial.current(), 0u);
}

TEST(PlanBandit, GivesWayLaterIfItTakesLongerInTheMeanOfMany) {
  for (const auto& [slow, gives_way] : {std::pair{1100u, true}, std::pair{1040u, false}}) {
    PlanBandit trial(kTold);
    EXPECT_FALSE(takes(trial, 1000));
    for (std::uint64_t i = 1; i < PlanBandit::kMany; ++i)
      EXPECT_FALSE(trial.note(Nanoseconds(i % 2 == 0 ? slow : 1000)));
    EXPECT_EQ(trial.note(Nanoseconds(slow)), gives_way) << "the next was told to take 1010, a fiftieth more is 1030";
  }
}

TEST(PlanBandit, GoesOnToTheNextWhileThatMayBeFaster) {
  PlanBandit trial(kTold);
  EXPECT_TRUE(takes(trial, 1025));
  EXPECT_EQ(trial.current(), 1u);
  EXPECT_FALSE(takes(trial, 1012)) << "the third was told to take longer";
  EXPECT_EQ(trial.current(), 1u);
}

TEST(PlanBandit, TriesNobodyWhoWasToldToBeFasterByNextToNothing) {
  PlanBandit trial(kTold);
  EXPECT_FALSE(takes(trial, 1019)) << "1010 were told, and a hundredth is no difference";
  EXPECT_EQ(trial.current(), 0u);
}

TEST(PlanBandit, ComesBackToTheFastestWhenAllTookLonger) {
  PlanBandit trial(kTold);
  EXPECT_TRUE(takes(trial, 1100));
  EXPECT_TRUE(takes(trial, 1200));
  EXPECT_TRUE(takes(trial, 1300));
  EXPECT_EQ(trial.current(), 0u);
  EXPECT_FALSE(takes(trial, 9000));
}

TEST(PlanBandit, LosesToWhatTheProgramDidBeforeIfWhoeverIsTriedTakesLonger) {
  for (const auto& [took, loses] : {std::pair{1010u, false}, std::pair{1100u, true}}) {
    PlanBandit trial(kTold);
    EXPECT_FALSE(trial.measured_if_worse());
    trial.set_baseline(Nanoseconds(1015));
    EXPECT_FALSE(trial.measured_if_worse()) << "nobody was tried";
    takes(trial, took);
    EXPECT_EQ(trial.measured_if_worse(), Nanoseconds(loses ? took : 0));
  }
}

TEST(PlanBandit, CannotLoseWhenItHasWon) {
  PlanBandit trial(kTold);
  trial.set_baseline(Nanoseconds(1015));
  EXPECT_FALSE(takes(trial, 1010));
  for (std::uint64_t i = 0; i < 2 * PlanBandit::kMany; ++i) trial.note(Nanoseconds(9000));
  EXPECT_FALSE(trial.measured_if_worse());
}

TEST(PlanBandit, WhatWasTriedBeforeCountsForNothing) {
  PlanBandit trial(kTold);
  EXPECT_FALSE(takes(trial, 1005));
  trial.set_baseline(Nanoseconds(900));
  EXPECT_FALSE(trial.measured_if_worse());
  takes(trial, 1005);
  EXPECT_EQ(trial.measured_if_worse(), Nanoseconds(1005));
}

TEST(PlanBandit, OfOneIsNotIdleWhileItCompetes) {
  constexpr std::array one = {Nanoseconds(1000)};
  PlanBandit trial(one);
  EXPECT_TRUE(trial.is_idle());
  trial.set_baseline(Nanoseconds(900));
  EXPECT_FALSE(trial.is_idle());
  EXPECT_FALSE(takes(trial, 1000));
  EXPECT_EQ(trial.measured_if_worse(), Nanoseconds(1000));
}

TEST(PlanBandit, OfOneThatGoesToAndFroTheMeanCounts) {
  for (const auto& [slow, gives_way] : {std::pair{1060u, true}, std::pair{1040u, false}}) {
    PlanBandit trial(kTold);
    EXPECT_FALSE(trial.note(Nanoseconds(5000)));
    for (std::uint64_t i = 1; i < PlanBandit::kMany; ++i) {
      EXPECT_FALSE(trial.note(Nanoseconds(i % 2 == 0 ? slow : 992)));
    }
    EXPECT_EQ(trial.note(Nanoseconds(slow)), gives_way) << "the next was told to take 1010";
  }
}

TEST(PlanBandit, AnIterationAfterABreakBeginsAnew) {
  PlanBandit trial(kTold);
  EXPECT_FALSE(trial.note(Nanoseconds(1500)));
  trial.interrupt();
  EXPECT_FALSE(trial.note(Nanoseconds(1500)));
  EXPECT_TRUE(trial.note(Nanoseconds(1500)));
}

TEST(PlanBandit, OfOneOrNoneThereIsNothingToTry) {
  constexpr std::array one = {Nanoseconds(5)};
  PlanBandit trial(one), none;
  EXPECT_FALSE(takes(trial, 100));
  EXPECT_FALSE(takes(none, 100));
}

}  // namespace
}  // namespace tessera
