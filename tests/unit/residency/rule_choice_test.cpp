#include "residency/iteration/rule_choice.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "policy/lru_policy.hpp"
#include "policy/mru_policy.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

constexpr RunShape kShape{0, 2};

class RuleChoiceTest : public ::testing::Test {
 protected:
  void begin(std::size_t runs, std::size_t room, std::vector<const Policy*> rules) {
    while (runs_.size() < runs) {
      runs_.push_back(std::make_unique<DeviceRun>(Address((runs_.size() + 1) << 26), kShape, TagId()));
      runs_.back()->live = 1;
    }
    choice_.set_rules(std::move(rules));
    choice_.set_machine({.device = kShape.bytes() * room, .out_rate = 1e9, .in_rate = 1e9});
  }
  void launch(std::size_t run, bool fresh = false) {
    const LaunchLog::Use use{.run = runs_[run].get(), .fresh = fresh, .freed = fresh ? freed_ : Epoch()};
    choice_.expect({&use, 1});
    choice_.note({++epoch_, epoch_.value(), Nanoseconds(1000)}, {&use, 1});
  }
  std::string_view best() const { return choice_.best()->name(); }

  LruPolicy lru_;
  MruPolicy mru_;
  RuleChoice choice_;
  std::vector<std::unique_ptr<DeviceRun>> runs_;
  Epoch epoch_, freed_;
};

TEST_F(RuleChoiceTest, HasNothingToChooseAmongFewerThanTwo) {
  EXPECT_EQ(choice_.best(), nullptr);
  choice_.set_rules({&lru_});
  EXPECT_TRUE(choice_.is_idle());
  EXPECT_EQ(choice_.best(), nullptr);
}

TEST_F(RuleChoiceTest, TheFirstRuleDecidesWhereAllFits) {
  begin(8, 10, {&lru_, &mru_});
  for (std::size_t i = 0; i < 400; ++i) launch(i % 8);
  EXPECT_EQ(best(), "lru");
}

TEST_F(RuleChoiceTest, FindsTheRuleForScans) {
  begin(20, 10, {&lru_, &mru_});
  for (std::size_t i = 0; i < 3 * 20; ++i) launch(i % 20);
  EXPECT_EQ(best(), "mru");
}

// Each run is used a few times in a row, and then hardly any more.
TEST_F(RuleChoiceTest, FindsTheRuleForAMovingWorkingSet) {
  begin(400, 10, {&mru_, &lru_});
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < 1200; ++i) launch(i / 4 + random() % 6);
  EXPECT_EQ(best(), "lru");
}

TEST_F(RuleChoiceTest, FollowsAProgramThatChanges) {
  begin(1000, 10, {&lru_, &mru_});
  for (std::size_t i = 0; i < 20 * 20; ++i) launch(i % 20);
  EXPECT_EQ(best(), "mru");
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < 3000; ++i) launch(100 + i / 4 + random() % 6);
  EXPECT_EQ(best(), "lru");
}

// A freed block costs nothing to evict, under any rule, so neither waits.
TEST_F(RuleChoiceTest, FreedBlocksAreEvictedWithoutACopy) {
  begin(40, 10, {&lru_, &mru_});
  for (std::size_t i = 0; i < 2000; ++i) {
    launch(i % 40);
    runs_[i % 40]->live = 0;
    runs_[i % 40]->freed = epoch_;
    if (i >= 39) {
      runs_[(i + 1) % 40]->live = 1;
      freed_ = runs_[(i + 1) % 40]->freed;
    }
  }
  EXPECT_EQ(best(), "lru");
}

// Launches are noted in batches: whether a block was free at one of them is told by its later fresh use.
TEST_F(RuleChoiceTest, ABlockIsLiveUntilItsFreeThoughItWasFreedByTheTimeOfTheNote) {
  begin(20, 10, {&lru_, &mru_});
  const auto scan_noted_late = [&] {
    // By now all blocks are free; the frees came behind all launches of the batch.
    for (const auto& run : runs_) run->freed = epoch_ + 20;
    for (std::size_t i = 0; i < 20; ++i) launch(i);
  };
  for (const auto& run : runs_) run->live = 0;
  for (int i = 0; i < 4; ++i) scan_noted_late();
  EXPECT_EQ(best(), "mru");
}

TEST_F(RuleChoiceTest, ASampleTellsOfManyRuns) {
  constexpr std::size_t kRuns = 6 * RuleChoice::kMostRuns;
  begin(kRuns, kRuns / 2, {&lru_, &mru_});
  for (std::size_t i = 0; i < 3 * kRuns; ++i) launch(i % kRuns);
  EXPECT_EQ(best(), "mru");
}

TEST_F(RuleChoiceTest, ForgetsRunsThatAreRemoved) {
  begin(20, 10, {&lru_, &mru_});
  for (std::size_t i = 0; i < 10; ++i) launch(i);
  for (std::size_t i = 0; i < 10; ++i) choice_.forget(*runs_[i]);
  for (std::size_t i = 0; i < 200; ++i) launch(10 + i % 10);  // these fit
  EXPECT_EQ(best(), "lru");
  for (const auto& run : runs_) choice_.forget(*run);
}

}  // namespace
}  // namespace tessera
