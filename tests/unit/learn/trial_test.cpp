#include "learn/trial.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

constexpr std::array kTold = {Nanoseconds(1000), Nanoseconds(1010), Nanoseconds(1020)};

// Two iterations of equal time.
bool takes(Trial& trial, std::uint64_t time) {
  EXPECT_FALSE(trial.note(Nanoseconds(2 * time))) << "the first has to do with the strategy before";
  EXPECT_FALSE(trial.note(Nanoseconds(time)));
  return trial.note(Nanoseconds(time));
}

TEST(Trial, BeginsWithTheShortest) {
  constexpr std::array told = {Nanoseconds(5), Nanoseconds(3), Nanoseconds(4)};
  EXPECT_EQ(Trial(told).current(), 1u);
  EXPECT_EQ(Trial(kTold).current(), 0u);
}

TEST(Trial, StaysWithWhatTakesAsLongAsItWasTold) {
  Trial trial(kTold);
  EXPECT_FALSE(takes(trial, 1005));
  EXPECT_FALSE(takes(trial, 5000)) << "it is settled";
  EXPECT_EQ(trial.current(), 0u);
}

TEST(Trial, GivesWayLaterIfItTakesLongerInTheMeanOfMany) {
  for (const auto& [slow, gives_way] : {std::pair{1100u, true}, std::pair{1040u, false}}) {
    Trial trial(kTold);
    EXPECT_FALSE(takes(trial, 1000));
    for (std::uint64_t i = 1; i < Trial::kMany; ++i) EXPECT_FALSE(trial.note(Nanoseconds(i % 2 == 0 ? slow : 1000)));
    EXPECT_EQ(trial.note(Nanoseconds(slow)), gives_way) << "the next was told to take 1010, a fiftieth more is 1030";
  }
}

TEST(Trial, GoesOnToTheNextWhileThatMayBeFaster) {
  Trial trial(kTold);
  EXPECT_TRUE(takes(trial, 1025));
  EXPECT_EQ(trial.current(), 1u);
  EXPECT_FALSE(takes(trial, 1012)) << "the third was told to take longer";
  EXPECT_EQ(trial.current(), 1u);
}

TEST(Trial, TriesNobodyWhoWasToldToBeFasterByNextToNothing) {
  Trial trial(kTold);
  EXPECT_FALSE(takes(trial, 1019)) << "1010 were told, and a hundredth is no difference";
  EXPECT_EQ(trial.current(), 0u);
}

TEST(Trial, ComesBackToTheFastestWhenAllTookLonger) {
  Trial trial(kTold);
  EXPECT_TRUE(takes(trial, 1100));
  EXPECT_TRUE(takes(trial, 1200));
  EXPECT_TRUE(takes(trial, 1300));
  EXPECT_EQ(trial.current(), 0u);
  EXPECT_FALSE(takes(trial, 9000));
}

TEST(Trial, LosesToWhatTheProgramDidBeforeIfWhoeverIsTriedTakesLonger) {
  for (const auto& [took, loses] : {std::pair{1010u, false}, std::pair{1100u, true}}) {
    Trial trial(kTold);
    EXPECT_FALSE(trial.lost_with());
    trial.compete_with(Nanoseconds(1015));
    EXPECT_FALSE(trial.lost_with()) << "nobody was tried";
    takes(trial, took);
    EXPECT_EQ(trial.lost_with(), Nanoseconds(loses ? took : 0));
  }
}

TEST(Trial, CannotLoseWhenItHasWon) {
  Trial trial(kTold);
  trial.compete_with(Nanoseconds(1015));
  EXPECT_FALSE(takes(trial, 1010));
  for (std::uint64_t i = 0; i < 2 * Trial::kMany; ++i) trial.note(Nanoseconds(9000));
  EXPECT_FALSE(trial.lost_with());
}

TEST(Trial, WhatWasTriedBeforeCountsForNothing) {
  Trial trial(kTold);
  EXPECT_FALSE(takes(trial, 1005));
  trial.compete_with(Nanoseconds(900));
  EXPECT_FALSE(trial.lost_with());
  takes(trial, 1005);
  EXPECT_EQ(trial.lost_with(), Nanoseconds(1005));
}

TEST(Trial, OfOneIsNotIdleWhileItCompetes) {
  constexpr std::array one = {Nanoseconds(1000)};
  Trial trial(one);
  EXPECT_TRUE(trial.is_idle());
  trial.compete_with(Nanoseconds(900));
  EXPECT_FALSE(trial.is_idle());
  EXPECT_FALSE(takes(trial, 1000));
  EXPECT_EQ(trial.lost_with(), Nanoseconds(1000));
}

TEST(Trial, OfOneThatGoesToAndFroTheMeanCounts) {
  for (const auto& [slow, gives_way] : {std::pair{1060u, true}, std::pair{1040u, false}}) {
    Trial trial(kTold);
    EXPECT_FALSE(trial.note(Nanoseconds(5000)));
    for (std::uint64_t i = 1; i < Trial::kMany; ++i) {
      EXPECT_FALSE(trial.note(Nanoseconds(i % 2 == 0 ? slow : 992)));
    }
    EXPECT_EQ(trial.note(Nanoseconds(slow)), gives_way) << "the next was told to take 1010";
  }
}

TEST(Trial, AnIterationAfterABreakBeginsAnew) {
  Trial trial(kTold);
  EXPECT_FALSE(trial.note(Nanoseconds(1500)));
  trial.interrupt();
  EXPECT_FALSE(trial.note(Nanoseconds(1500)));
  EXPECT_TRUE(trial.note(Nanoseconds(1500)));
}

TEST(Trial, OfOneOrNoneThereIsNothingToTry) {
  constexpr std::array one = {Nanoseconds(5)};
  Trial trial(one), none;
  EXPECT_FALSE(takes(trial, 100));
  EXPECT_FALSE(takes(none, 100));
}

}  // namespace
}  // namespace tessera
