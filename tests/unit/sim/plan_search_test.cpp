#include "sim/plan_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "iterations.hpp"
#include "planning/farthest_intervals.hpp"
#include "policy/lru_policy.hpp"
#include "sim/simulated_engine.hpp"

namespace tessera {
namespace {

constexpr Machine kTight{.device = 40_MiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};
constexpr Machine kRoomy{.device = 8_GiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};

class PlanSearchTest : public ::testing::Test {
 protected:
  Candidate played(const Machine& machine, OffloadPlan plan) const {
    return played(machine, Strategy{"first", std::move(plan), &lru_});
  }
  Candidate played(const Machine& machine, Strategy strategy) const {
    const std::atomic<Nanoseconds> never{Nanoseconds(~std::uint64_t{0})};
    const auto time = simulate_plan(iteration_, machine, strategy, lru_, never, stop_).time;
    EXPECT_TRUE(time.is_ok()) << time.status().to_string();
    return {std::move(strategy), time.value()};
  }
  std::unique_ptr<PlanSearch> search(const Machine& machine, std::vector<Candidate> from) {
    return std::make_unique<PlanSearch>(
        iteration_, machine, lru_, stop_, [this](std::vector<Candidate> best) { reported_.push_back(std::move(best)); },
        std::move(from));
  }

  const Iteration iteration_ = test::training({.layers = 4});
  const LruPolicy lru_{};
  std::atomic<bool> stop_{false};
  std::vector<std::vector<Candidate>> reported_;
};

// A single search covers all checks: it takes seconds under a sanitizer. A round that has found nothing yet when the
// previous one is over must not lose what that one had found.
TEST_F(PlanSearchTest, FindsFasterPlansReportsThemAndEnds) {
  const Candidate first = played(kTight, farthest_intervals(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  std::uint64_t plays = 0;
  for (Nanoseconds before = first.time; search->goes_on(); ++plays) {
    search->play();
    const Nanoseconds now = search->best().front().time;
    EXPECT_LE(now, before) << plays;
    before = now;
  }
  EXPECT_GT(plays, PlanSearch::kRounds * PlanSearch::kMostFruitless);

  const std::vector<Candidate> best = search->best();
  ASSERT_GE(best.size(), 2u);
  EXPECT_LT(best.front().time * 100, first.time * 95);
  EXPECT_EQ(best.back().time, first.time) << "what it began with is the last resort";
  for (std::size_t i = 1; i < best.size(); ++i) {
    EXPECT_LT(best[i - 1].time, best[i].time) << "none of them does the same as another";
  }
  EXPECT_EQ(played(kTight, best.front().strategy).time, best.front().time) << "what it tells is true";

  ASSERT_FALSE(reported_.empty()) << "what is much faster is candidates on the way";
  Nanoseconds last = first.time;
  for (const std::vector<Candidate>& candidates : reported_) {
    EXPECT_LT(candidates.front().time + candidates.front().time / PlanSearch::kWorthReporting, last);
    last = candidates.front().time;
  }
  EXPECT_LE(best.front().time, last);
}

TEST_F(PlanSearchTest, DoesNotStartWhenNothingCanImprove) {
  EXPECT_FALSE(search(kRoomy, {played(kRoomy, OffloadPlan{})})->goes_on());
}

TEST_F(PlanSearchTest, EndsWhenItIsStopped) {
  const auto search = this->search(kTight, {played(kTight, OffloadPlan{})});
  EXPECT_TRUE(search->goes_on());
  stop_.store(true);
  EXPECT_FALSE(search->goes_on());
  search->play();
  EXPECT_EQ(search->best().size(), 1u) << "what was stopped is not candidates";
}

TEST_F(PlanSearchTest, ThreadsMaySearchAtOnce) {
  const Candidate first = played(kTight, farthest_intervals(iteration_, kTight.device));
  const auto search = this->search(kTight, {first});
  constexpr int kPlays = 25;  // of each thread: a whole search is some hundred
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&search] {
      for (int plays = 0; plays < kPlays && search->goes_on(); ++plays) search->play();
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_LT(search->best().front().time, first.time);
}

}  // namespace
}  // namespace tessera
