#include "rehearse/rehearsal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "no_threads.hpp"
#include "policy/auto_policy.hpp"
#include "policy/lru_policy.hpp"

namespace tessera {
namespace {

// One run after another, all of them too many for the device; nothing is read twice but in the next iteration.
Iteration cycle(std::uint32_t runs) {
  Iteration iteration;
  for (std::uint32_t i = 0; i < runs; ++i) {
    iteration.uses.push_back({.run = i});
    iteration.runs.push_back({.bytes = 64_MiB});
    iteration.steps.push_back({.duration = Nanoseconds(1'000'000), .first_use = i, .end_use = i + 1});
  }
  return iteration;
}

constexpr Machine kMachine{.device = 640_MiB, .host = 4_GiB, .out_rate = 10e9, .in_rate = 10e9};

// Who was used just now leaves first: of a cycle the best.
class Newest final : public Policy {
 public:
  std::string_view name() const override { return "newest"; }
  Decision decide(const Snapshot& snapshot) const override {
    std::vector<RunPicture> runs = snapshot.runs;
    std::ranges::sort(runs, [](const RunPicture& a, const RunPicture& b) { return a.used > b.used; });
    Decision decision;
    for (const RunPicture& run : runs) decision.leave.push_back(run.run);
    return decision;
  }
};

class Two final : public Policy {
 public:
  std::string_view name() const override { return "two"; }
  Decision decide(const Snapshot& snapshot) const override { return lru_.decide(snapshot); }
  void strategies(const Iteration&, const Machine&, const Hear& hear) const override {
    if (hear({"lru", {}, &lru_})) hear({"newest", {}, &newest_});
  }

 private:
  LruPolicy lru_;
  Newest newest_;
};

// Counts how often it is asked; the strategies differ in name, and by a plan for what is dead anyway.
class Counting final : public Policy {
 public:
  explicit Counting(std::size_t strategies) : strategies_(strategies) {}
  std::string_view name() const override { return "counting"; }
  Decision decide(const Snapshot& snapshot) const override {
    ++asked;
    return lru_.decide(snapshot);
  }
  void strategies(const Iteration&, const Machine&, const Hear& hear) const override {
    const AbsencePlan nothing{{.gap = {.run = 1, .after = 1, .until = 1, .wraps = true, .dead = true}}};
    bool more = hear({"bare", {}, this});
    for (std::size_t told = 1; more && told < strategies_; ++told) more = hear({"other", nothing, this});
  }
  mutable std::size_t asked = 0;

 private:
  const std::size_t strategies_;
  LruPolicy lru_;
};

std::size_t asked_for(std::size_t strategies, Strategy& answer) {
  const Counting policy(strategies);
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  rehearsal.ask(cycle(14), kMachine);
  answer = rehearsal.answer().at(0).strategy;
  return policy.asked;
}

// Asks again until there is an answer.
Strategy await_answer(Rehearsal& rehearsal) {
  for (;;) {
    if (std::vector<Told> told = rehearsal.answer(); !told.empty()) return std::move(told.front().strategy);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Rehearsal, AnswersWithWhatTookTheLeastTime) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  rehearsal.ask(cycle(14), kMachine);
  EXPECT_EQ(rehearsal.answer().at(0).strategy.name, "newest");
  EXPECT_TRUE(rehearsal.answer().empty()) << "one answer for each question";
}

// What is behind by more than is told for certain is not worth a trial, nor what does the same.
TEST(Rehearsal, AnswersWithAllThatMayBeTheBest) {
  const AutoPolicy policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  rehearsal.ask(cycle(14), kMachine);
  const std::vector<Told> told = rehearsal.answer();
  ASSERT_GE(told.size(), 2u);
  EXPECT_LE(told.size(), Rehearsal::kMostTold);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_LT(told[i - 1].time, told[i].time);
    EXPECT_LE(told[i].time - told[0].time, told[0].time / Rehearsal::kDoubt);
  }
}

// As `newest`, after a while.
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
  void strategies(const Iteration&, const Machine&, const Hear& hear) const override {
    if (hear({"lru", {}, &lru_})) hear({"slow", {}, &slow});
  }
  Slow slow;

 private:
  LruPolicy lru_;
};

TEST(Rehearsal, AnswersWithTheBestSoFarUntilThereIsABetterOne) {
  const LruAndSlow policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWhenReady);
  rehearsal.ask(cycle(14), kMachine);
  EXPECT_EQ(await_answer(rehearsal).name, "lru");
  EXPECT_TRUE(rehearsal.answer().empty());
  policy.slow.released.store(true);
  EXPECT_EQ(await_answer(rehearsal).name, "slow");
}

TEST(Rehearsal, PlaysOnceWhatSeveralWouldDo) {
  Strategy two, five;
  const std::size_t once = asked_for(2, two);
  EXPECT_GT(once, 0u);
  EXPECT_EQ(asked_for(5, five), once);
  EXPECT_EQ(five.name, "bare");
}

TEST(Rehearsal, ThinksBesideTheProgram) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWhenReady);
  EXPECT_TRUE(rehearsal.answer().empty());
  rehearsal.ask(cycle(14), kMachine);
  std::string_view name;
  do name = await_answer(rehearsal).name;
  while (name != "newest");
}

TEST(Rehearsal, AnswersWithTheFirstWhereNothingCanBeTold) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  rehearsal.ask(cycle(14), {.device = 640_MiB, .host = 4_GiB});
  EXPECT_EQ(rehearsal.answer().at(0).strategy.name, "lru") << "no rate is known";
  rehearsal.ask(cycle(14), {.device = 32_MiB, .host = 4_GiB, .out_rate = 1e9, .in_rate = 1e9});
  EXPECT_EQ(rehearsal.answer().at(0).strategy.name, "lru") << "nothing fits";
}

TEST(Rehearsal, TheNewestQuestionIsTheOneThatIsAnswered) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  for (std::uint32_t runs = 100; runs > 2; --runs) rehearsal.ask(cycle(runs), kMachine);
  rehearsal.ask(cycle(2), kMachine);
  EXPECT_EQ(rehearsal.answer().at(0).strategy.name, "lru") << "of what fits, both take as long";
  EXPECT_TRUE(rehearsal.answer().empty());
}

TEST(Rehearsal, HasNoAnswerWithoutAThreadAndTriesAgain) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWaits);
  {
    const NoThreads none;
    rehearsal.ask(cycle(14), kMachine);
  }
  EXPECT_TRUE(rehearsal.answer().empty());
  rehearsal.ask(cycle(14), kMachine);
  EXPECT_EQ(rehearsal.answer().at(0).strategy.name, "newest");
}

TEST(Rehearsal, EndsInTheMiddleOfAThought) {
  const Two policy;
  Rehearsal rehearsal(policy, Rehearsal::Answer::kWhenReady);
  rehearsal.ask(cycle(10'000), kMachine);
}

}  // namespace
}  // namespace tessera
