#include "rehearse/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "iterations.hpp"
#include "learn/farthest_absences.hpp"
#include "policy/lru_policy.hpp"
#include "rehearse/stage.hpp"

namespace tessera {
namespace {

constexpr Machine kTight{.device = 40_MiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};
constexpr Machine kRoomy{.device = 8_GiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};

class SearchTest : public ::testing::Test {
 protected:
  Told played(const Machine& machine, AbsencePlan plan) const {
    Strategy strategy{"first", std::move(plan), &lru_};
    const std::atomic<Nanoseconds> never{Nanoseconds(~std::uint64_t{0})};
    const auto time = play_on_stage(iteration_, machine, strategy, lru_, never, stop_).time;
    EXPECT_TRUE(time.is_ok()) << time.status().to_string();
    return {std::move(strategy), time.value()};
  }
  std::unique_ptr<Search> search(const Machine& machine, std::vector<Told> from) {
    return std::make_unique<Search>(iteration_, machine, lru_, stop_,
                                    [this](std::vector<Told> best) { told_.push_back(std::move(best)); },
                                    std::move(from));
  }

  const Iteration iteration_ = test::training({.layers = 4});
  const LruPolicy lru_{};
  std::atomic<bool> stop_{false};
  std::vector<std::vector<Told>> told_;
};

TEST_F(SearchTest, FindsWhatIsFasterAndEnds) {
  const Told first = played(kTight, farthest_absences(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  std::uint64_t plays = 0;
  while (search->goes_on()) {
    search->play();
    ++plays;
  }
  EXPECT_GT(plays, Search::kRounds * Search::kMostFruitless);
  const std::vector<Told> best = search->best();
  ASSERT_GE(best.size(), 2u);
  EXPECT_LT(best.front().time * 100, first.time * 95);
  EXPECT_EQ(best.back().time, first.time) << "what it began with is the last resort";
  for (std::size_t i = 1; i < best.size(); ++i) {
    EXPECT_LT(best[i - 1].time, best[i].time) << "none of them does the same as another";
  }
}

TEST_F(SearchTest, WhatItTellsIsTrue) {
  const auto search = this->search(kTight, {played(kTight, farthest_absences(iteration_, kTight.device))});
  while (search->goes_on()) search->play();
  const Told best = search->best().front();
  const std::atomic<Nanoseconds> never{Nanoseconds(~std::uint64_t{0})};
  EXPECT_EQ(play_on_stage(iteration_, kTight, best.strategy, lru_, never, stop_).time.value(), best.time);
}

TEST_F(SearchTest, TellsOnTheWayWhatIsMuchFaster) {
  const Told first = played(kTight, farthest_absences(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  while (search->goes_on()) search->play();
  ASSERT_FALSE(told_.empty());
  Nanoseconds before = first.time;
  for (const std::vector<Told>& best : told_) {
    EXPECT_LT(best.front().time + best.front().time / Search::kWorthTelling, before);
    before = best.front().time;
  }
  EXPECT_LE(search->best().front().time, before);
}

// The second round has found nothing yet when the first is over.
TEST_F(SearchTest, WhatARoundHasFoundIsNotForgottenInTheNext) {
  const Told first = played(kTight, farthest_absences(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  Nanoseconds best = first.time;
  for (std::uint64_t plays = 0; search->goes_on(); ++plays) {
    search->play();
    const Nanoseconds now = search->best().front().time;
    EXPECT_LE(now, best) << plays;
    best = now;
  }
  EXPECT_LT(best, first.time);
}

TEST_F(SearchTest, WhereNothingIsLeftToWinItDoesNotBegin) {
  EXPECT_FALSE(search(kRoomy, {played(kRoomy, {})})->goes_on());
}

TEST_F(SearchTest, EndsWhenItIsStopped) {
  const auto search = this->search(kTight, {played(kTight, {})});
  EXPECT_TRUE(search->goes_on());
  stop_.store(true);
  EXPECT_FALSE(search->goes_on());
  search->play();
  EXPECT_EQ(search->best().size(), 1u) << "what was stopped is not told";
}

TEST_F(SearchTest, ManyMayPlayAtOnce) {
  const Told first = played(kTight, farthest_absences(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  std::vector<std::thread> players;
  for (int i = 0; i < 4; ++i) {
    players.emplace_back([&search] {
      while (search->goes_on()) search->play();
    });
  }
  for (std::thread& player : players) player.join();
  EXPECT_LT(search->best().front().time, first.time);
}

}  // namespace
}  // namespace tessera
