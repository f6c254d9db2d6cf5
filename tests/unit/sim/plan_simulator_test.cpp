#include "sim/plan_simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "no_threads.hpp"
#include "policy/auto_policy.hpp"
#include "policy/lru_policy.hpp"
#include "sim/candidate_race.hpp"

namespace tessera {
namespace {

// Runs used in sequence, too many for the device; each is read again only in the next iteration.
Iteration cycle(std::uint32_t runs) {
  Iteration iteration;
  for (std::uint32_t i = 0; i < runs; ++i) {
    iteration.uses.push_back({.run = i});
    iteration.runs.push_back({.bytes = 64_MiB});
    iteration.steps.push_back({.duration = Nanoseconds(1'000'000), .first_use = i, .end_use = i + 1});
  }
  return iteration;
}

constexpr Machine kMachine{.device = 256_MiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};

// Evicts the most recently used run first: optimal for a cycle.
class Newest final : public Policy {
 public:
  std::string_view name() const override { return "newest"; }
  Decision decide(const Snapshot& snapshot) const override {
    std::vector<RunPicture> runs = snapshot.runs;
    std::ranges::sort(runs, [](const RunPicture& a, const RunPicture& b) { return a.used > b.used; });
    Decision decision;
    for (const RunPicture& run : runs) decision.victims.push_back(run.run);
    return decision;
  }
};

class Two final : public Policy {
 public:
  std::string_view name() const override { return "two"; }
  Decision decide(const Snapshot& snapshot) const override { return lru_.decide(snapshot); }
  void strategies(const Iteration&, const Machine&, const EmitCandidate& race) const override {
    if (race({"lru", {}, &lru_})) race({"newest", {}, &newest_});
  }

 private:
  LruPolicy lru_;
  Newest newest_;
};

// Counts its calls. All strategies but one differ in name, and by a plan for runs that are dead anyway.
class Counting final : public Policy {
 public:
  explicit Counting(std::size_t strategies) : strategies_(strategies) {}
  std::string_view name() const override { return "counting"; }
  Decision decide(const Snapshot& snapshot) const override {
    ++asked;
    return lru_.decide(snapshot);
  }
  void strategies(const Iteration&, const Machine&, const EmitCandidate& race) const override {
    const OffloadPlan nothing{{.gap = {.run = 1, .after = 1, .until = 1, .wraps = true, .dead = true}}};
    bool more = race({"bare", {}, this}) && race({"another", {}, &lru_});
    for (std::size_t candidates = 2; more && candidates < strategies_; ++candidates)
      more = race({"other", nothing, this});
  }
  mutable std::size_t asked = 0;

 private:
  const std::size_t strategies_;
  LruPolicy lru_;
};

std::size_t asked_for(std::size_t strategies, Strategy& answer) {
  const Counting policy(strategies);
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  simulation.ask(cycle(6), kMachine);
  answer = simulation.answer().at(0).strategy;
  return policy.asked;
}

// Asks repeatedly until there is an answer.
Strategy await_answer(PlanSimulator& simulation) {
  for (;;) {
    if (std::vector<Candidate> candidates = simulation.answer(); !candidates.empty())
      return std::move(candidates.front().strategy);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(PlanSimulator, AnswersWithTheFastestCandidate) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  simulation.ask(cycle(6), kMachine);
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "newest");
  EXPECT_TRUE(simulation.answer().empty()) << "one answer for each question";
}

// Candidates that are behind by more than the prediction error are not worth measuring, nor duplicates; the search's
// starting point is kept, as the last resort.
TEST(PlanSimulator, AnswersWithEveryPossibleBest) {
  const AutoPolicy policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  simulation.ask(cycle(14), kMachine);
  const std::vector<Candidate> candidates = simulation.answer();
  ASSERT_GE(candidates.size(), 2u);
  EXPECT_LE(candidates.size(), CandidateRace::kMostAnswers);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    EXPECT_LE(candidates[i - 1].time, candidates[i].time);
    const bool is_last = i + 1 == candidates.size();
    EXPECT_TRUE(is_last || candidates[i].time - candidates[0].time <= candidates[0].time / CandidateRace::kDoubt);
  }
}

// Like `newest`, after a delay.
class Slow final : public Policy {
 public:
  std::string_view name() const override { return "slow"; }
  Decision decide(const Snapshot& snapshot) const override {
    while (!released.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return newest_.decide(snapshot);
  }
  mutable std::atomic<bool> released{false};

 private:
  Newest newest_;
};

class LruAndSlow final : public Policy {
 public:
  std::string_view name() const override { return "lru and slow"; }
  Decision decide(const Snapshot& snapshot) const override { return lru_.decide(snapshot); }
  void strategies(const Iteration&, const Machine&, const EmitCandidate& race) const override {
    if (race({"lru", {}, &lru_}) && race({"lru again", {}, &again_})) race({"slow", {}, &slow});
  }
  Slow slow;

 private:
  LruPolicy lru_, again_;
};

TEST(PlanSimulator, AnswersWithTheBestSoFarUntilThereIsABetterOne) {
  const LruAndSlow policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWhenReady);
  simulation.ask(cycle(6), kMachine);
  EXPECT_EQ(await_answer(simulation).name, "lru");
  EXPECT_TRUE(simulation.answer().empty());
  policy.slow.released.store(true);
  EXPECT_EQ(await_answer(simulation).name, "slow");
}

// Which candidates are abandoned, and what the search finds, depends on completion order; the quality hardly does.
TEST(PlanSimulator, AnswersEquallyWellWithSeveralWorkers) {
  const AutoPolicy policy;
  PlanSimulator one(policy, PlanSimulator::Answer::kWaits), several(policy, PlanSimulator::Answer::kWaits, 4);
  one.ask(cycle(6), kMachine);
  several.ask(cycle(6), kMachine);
  const std::vector<Candidate> a = one.answer(), b = several.answer();
  ASSERT_FALSE(b.empty());
  EXPECT_LT(a.front().time, b.front().time + b.front().time / 16);
  EXPECT_LT(b.front().time, a.front().time + a.front().time / 16);
  EXPECT_TRUE(several.answer().empty()) << "one answer for each question";
}

TEST(PlanSimulator, LeavesMostProcessorsToTheProgram) {
  EXPECT_EQ(PlanSimulator::workers_beside(0), 1u) << "nobody knows how many there are";
  EXPECT_EQ(PlanSimulator::workers_beside(7), 1u);
  EXPECT_EQ(PlanSimulator::workers_beside(8), 2u);
  EXPECT_EQ(PlanSimulator::workers_beside(256), 4u);
}

// Neither of its strategies continues before the other one has begun.
class Together final : public Policy {
 public:
  std::string_view name() const override { return "together"; }
  Decision decide(const Snapshot& snapshot) const override { return lru_.decide(snapshot); }
  void strategies(const Iteration&, const Machine&, const EmitCandidate& race) const override {
    if (race({"one", {}, &one_})) race({"other", {}, &other_});
  }

 private:
  class Half final : public Policy {
   public:
    Half(std::atomic<bool>& own, const std::atomic<bool>& other) : own_(own), other_(other) {}
    std::string_view name() const override { return "half"; }
    Decision decide(const Snapshot& snapshot) const override {
      own_.store(true);
      while (!other_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return lru_.decide(snapshot);
    }

   private:
    std::atomic<bool>& own_;
    const std::atomic<bool>& other_;
    LruPolicy lru_;
  };
  mutable std::atomic<bool> one_began_{false}, other_began_{false};
  Half one_{one_began_, other_began_}, other_{other_began_, one_began_};
  LruPolicy lru_;
};

TEST(PlanSimulator, SimulatesSeveralCandidatesAtOnce) {
  const Together policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits, 2);
  simulation.ask(cycle(6), kMachine);
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "one") << "of two that do the same the likelier";
}

TEST(PlanSimulator, SeveralWorkersStopDuringASimulation) {
  const AutoPolicy policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWhenReady, 4);
  simulation.ask(cycle(10'000), kMachine);
}

TEST(PlanSimulator, SimulatesEqualCandidatesOnce) {
  Strategy two, five;
  const std::size_t once = asked_for(2, two);
  const std::size_t again = asked_for(5, five);
  // A simulation asks about eighty times. A few calls come from its end, where blocks are processed in hash order.
  EXPECT_GT(once, 1000u);
  EXPECT_LT(again > once ? again - once : once - again, 40u);
  EXPECT_EQ(five.name, "bare");
}

TEST(PlanSimulator, SimulatesInTheBackground) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWhenReady);
  EXPECT_TRUE(simulation.answer().empty());
  simulation.ask(cycle(6), kMachine);
  std::string_view name;
  do name = await_answer(simulation).name;
  while (name != "newest");
}

TEST(PlanSimulator, AnswersWithTheFirstWhenNothingCanBeSimulated) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  simulation.ask(cycle(6), {.device = kMachine.device, .host = 4_GiB});
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "lru") << "no rate is known";
  simulation.ask(cycle(6), {.device = 32_MiB, .host = 4_GiB, .out_rate = 1e9, .in_rate = 1e9});
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "lru") << "nothing fits";
}

TEST(PlanSimulator, AnswersTheNewestRequest) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  for (std::uint32_t runs = 100; runs > 2; --runs) simulation.ask(cycle(runs), kMachine);
  simulation.ask(cycle(2), kMachine);
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "lru") << "of what fits, both take as long";
  EXPECT_TRUE(simulation.answer().empty());
}

TEST(PlanSimulator, HasNoAnswerWithoutAThreadAndTriesAgain) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWaits);
  {
    const NoThreads none;
    simulation.ask(cycle(6), kMachine);
  }
  EXPECT_TRUE(simulation.answer().empty());
  simulation.ask(cycle(6), kMachine);
  EXPECT_EQ(simulation.answer().at(0).strategy.name, "newest");
}

TEST(PlanSimulator, StopsDuringASimulation) {
  const Two policy;
  PlanSimulator simulation(policy, PlanSimulator::Answer::kWhenReady);
  simulation.ask(cycle(10'000), kMachine);
}

}  // namespace
}  // namespace tessera
