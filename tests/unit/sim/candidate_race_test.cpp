#include "sim/candidate_race.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/page_class.hpp"
#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

constexpr Machine kShort{.device = 640_MiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};

// Evicts the most recently used run first, which is best for a cyclic access pattern.
class LatestFirst final : public Policy {
 public:
  std::string_view name() const override { return "latest first"; }
  Decision decide(const Snapshot& snapshot) const override {
    std::vector<RunPicture> runs = snapshot.runs;
    std::ranges::sort(runs, std::ranges::greater(), &RunPicture::used);
    Decision decision;
    for (const RunPicture& run : runs) decision.victims.push_back(run.run);
    return decision;
  }
};

class CandidateRaceTest : public ::testing::Test {
 protected:
  // Runs used cyclically, too many for the device: the most recently used is needed last.
  CandidateRaceTest() {
    for (std::uint32_t i = 0; i < 14; ++i) {
      iteration_.uses.push_back({.run = i});
      iteration_.runs.push_back({.bytes = 64_MiB});
      iteration_.steps.push_back({.duration = Nanoseconds(1'000'000), .first_use = i, .end_use = i + 1});
    }
  }
  // The policy evicts the run needed next, already in the first pass.
  void go_around_six_times() {
    iteration_.steps.clear();
    iteration_.uses.clear();
    for (std::uint32_t round = 0; round < 6; ++round) {
      iteration_.runs.push_back({.bytes = 4_MiB + round * kBasePage});  // distinguishes the rounds
      for (std::uint32_t i = 0; i < 14; ++i) {
        const auto first = static_cast<std::uint32_t>(iteration_.uses.size());
        iteration_.uses.push_back({.run = i});
        iteration_.uses.push_back({.run = 14 + round});
        iteration_.steps.push_back({Nanoseconds(1'000'000), first, first + 2});
      }
    }
  }
  std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const Candidate& each : race_.best()) names.push_back(each.strategy.name);
    return names;
  }

  Iteration iteration_;
  LruPolicy lru_;
  LatestFirst latest_;
  std::atomic<bool> stop_{false};
  std::vector<std::string_view> reported_;
  CandidateRace race_{iteration_, kShort, lru_, stop_,
                      [this](const Candidate& best) { reported_.push_back(best.strategy.name); }};
  const Strategy slow_{"slow", {}, &lru_}, fast_{"fast", {}, &latest_};
};

TEST_F(CandidateRaceTest, ReportsEachNewBest) {
  race_.play(0, slow_);
  race_.play(1, fast_);
  race_.play(2, slow_);
  EXPECT_EQ(reported_, (std::vector<std::string_view>{"slow", "fast"}));
  EXPECT_EQ(names(), std::vector<std::string_view>{"fast"});
}

TEST_F(CandidateRaceTest, ReportsNothingBeforeTheFirstCandidateIsSimulated) {
  race_.play(1, slow_);
  EXPECT_TRUE(reported_.empty());
  race_.play(0, fast_);
  EXPECT_EQ(reported_, std::vector<std::string_view>{"fast"});
}

TEST_F(CandidateRaceTest, ReportsACandidateFasterThanThePlainPolicyAtOnce) {
  go_around_six_times();
  race_.play(1, slow_);
  EXPECT_TRUE(reported_.empty());
  race_.play(2, fast_);
  EXPECT_EQ(reported_, std::vector<std::string_view>{"fast"});
}

TEST_F(CandidateRaceTest, ReportsAFirstCandidateThatIsClearlyFasterBeforeItHasSettled) {
  go_around_six_times();
  std::vector<Nanoseconds> times;
  CandidateRace race(iteration_, kShort, lru_, stop_, [&](const Candidate& best) { times.push_back(best.time); });
  race.play(1, fast_);
  ASSERT_EQ(times.size(), 2U) << "once early, and once with the settled time";
  EXPECT_EQ(times[1], race.best().front().time);
  race.play(2, fast_);
  EXPECT_EQ(times.size(), 2U) << "the others are compared with it";
}

TEST_F(CandidateRaceTest, AFirstCandidateThatLosesCountsAsSimulated) {
  race_.play(1, fast_);
  race_.play(0, slow_);
  EXPECT_EQ(reported_, std::vector<std::string_view>{"fast"});
}

TEST_F(CandidateRaceTest, PrefersTheEarlierOfTwoEqualCandidates) {
  race_.play(2, {"later", {}, &latest_});
  race_.play(1, {"sooner", {}, &latest_});
  EXPECT_EQ(names(), std::vector<std::string_view>{"sooner"});
}

TEST_F(CandidateRaceTest, ContinuesUntilStoppedOrFinished) {
  race_.play(0, fast_);
  EXPECT_TRUE(race_.goes_on());
  stop_.store(true);
  EXPECT_FALSE(race_.goes_on());
  race_.play(1, fast_);
  EXPECT_EQ(race_.best().size(), 1u) << "what was stopped is not candidates";
}

TEST_F(CandidateRaceTest, ThreadsMaySimulateAtOnce) {
  std::vector<std::thread> workers;
  for (std::size_t place = 0; place < 4; ++place) {
    workers.emplace_back([this, place] { race_.play(place, place == 2 ? fast_ : slow_); });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(reported_.back(), "fast");
  EXPECT_EQ(names(), std::vector<std::string_view>{"fast"});
}

}  // namespace
}  // namespace tessera
