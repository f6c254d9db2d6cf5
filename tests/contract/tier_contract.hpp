// One suite for every Tier: the rules and invariants of tier/tier.hpp.
//
// Instantiate it with INSTANTIATE_TYPED_TEST_SUITE_P(Name, TierContract, Machine); a Machine is a default-constructible
// type with
//   Tier& tier();               new, with a budget of kCapacity, which the machine can provide in full
//   static constexpr Bytes kCapacity;       a multiple of the large page, at least two
//   static constexpr bool kValuesAreRanges; Frame::value .. value + bytes is the frame's own range
//   void finish();              called when every frame was given back
//
// Thread safety: a test suite.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tier/tier.hpp"

namespace tessera::contract {

template <class Machine>
class TierContract : public ::testing::Test {
 protected:
  void TearDown() override {
    while (!out_.empty()) give_back(0);
    expect_sound();
    machine_.finish();
  }

  Tier& tier() { return machine_.tier(); }

  // Takes a frame that TearDown gives back; false if the tier is full.
  bool take(PageClass page_class) {
    auto taken = tier().take(page_class);
    if (!taken.is_ok()) {
      EXPECT_EQ(taken.status().code(), Code::kOutOfMemory) << taken.status().to_string();
      EXPECT_FALSE(taken.status().message().empty());
      return false;
    }
    const Frame frame = taken.value();
    EXPECT_EQ(frame.tier, tier().location());
    EXPECT_EQ(frame.page_class, page_class);
    const std::uint64_t size = Machine::kValuesAreRanges ? frame.bytes().value() : 1;
    for (const Frame& other : out_) {
      const std::uint64_t other_size = Machine::kValuesAreRanges ? other.bytes().value() : 1;
      EXPECT_FALSE(frame.value < other.value + other_size && other.value < frame.value + size)
          << "two frames that are out overlap at " << frame.value << " and " << other.value;
    }
    out_.push_back(frame);
    used_ += frame.bytes();
    return true;
  }
  void give_back(std::size_t index) {
    tier().give_back(out_[index]);
    used_ -= out_[index].bytes();
    out_[index] = out_.back();
    out_.pop_back();
  }
  std::uint64_t fill(PageClass page_class) {
    std::uint64_t count = 0;
    while (take(page_class)) ++count;
    return count;
  }
  void expect_sound() {
    const Status sound = tier().validate();
    EXPECT_TRUE(sound.is_ok()) << sound.to_string();
    const TierUsage usage = tier().usage();
    EXPECT_EQ(usage.capacity, Machine::kCapacity);
    EXPECT_EQ(usage.used, used_);
    EXPECT_LE(usage.used + usage.spare, usage.capacity);
    EXPECT_GE(usage.peak_used, usage.used);
  }

  Machine machine_;
  std::vector<Frame> out_;
  Bytes used_;
};

TYPED_TEST_SUITE_P(TierContract);

TYPED_TEST_P(TierContract, ANewTierHasNoFramesInUse) {
  this->expect_sound();
  EXPECT_EQ(this->tier().usage().peak_used, Bytes());
}

TYPED_TEST_P(TierContract, TheBudgetIsUsedToTheLastBasePage) {
  EXPECT_EQ(this->fill(PageClass::kBase), TypeParam::kCapacity / kBasePage);
  this->expect_sound();
  EXPECT_FALSE(this->take(PageClass::kLarge));
}

TYPED_TEST_P(TierContract, TheBudgetIsUsedToTheLastLargePage) {
  EXPECT_EQ(this->fill(PageClass::kLarge), TypeParam::kCapacity / kLargePage);
  this->expect_sound();
  EXPECT_FALSE(this->take(PageClass::kBase));
}

TYPED_TEST_P(TierContract, AReturnedFrameMakesRoom) {
  this->fill(PageClass::kLarge);
  this->give_back(0);
  this->expect_sound();
  EXPECT_TRUE(this->take(PageClass::kLarge));
  EXPECT_EQ(this->tier().usage().peak_used, TypeParam::kCapacity);
}

TYPED_TEST_P(TierContract, FreedFramesOfOneClassServeTheOther) {
  this->fill(PageClass::kBase);
  while (!this->out_.empty()) this->give_back(0);
  EXPECT_EQ(this->fill(PageClass::kLarge), TypeParam::kCapacity / kLargePage);
  while (!this->out_.empty()) this->give_back(0);
  EXPECT_EQ(this->fill(PageClass::kBase), TypeParam::kCapacity / kBasePage);
}

TYPED_TEST_P(TierContract, TrimKeepsWhatIsOutAndHoldsNothingElse) {
  this->take(PageClass::kLarge);
  this->take(PageClass::kBase);
  this->give_back(0);
  this->tier().trim();
  this->expect_sound();
  EXPECT_EQ(this->fill(PageClass::kBase), TypeParam::kCapacity / kBasePage - 1);
  while (!this->out_.empty()) this->give_back(0);
  this->tier().trim();
  EXPECT_EQ(this->tier().usage().spare, Bytes());
  EXPECT_TRUE(this->take(PageClass::kLarge));
}

TYPED_TEST_P(TierContract, RandomTrafficConservesEveryFrame) {
  std::mt19937_64 random(7);
  for (int step = 0; step < 2000 && !::testing::Test::HasFailure(); ++step) {
    const bool full = this->used_ + kLargePage > TypeParam::kCapacity;
    if (!this->out_.empty() && random() % (full ? 2 : 3) == 0) {
      this->give_back(random() % this->out_.size());
    } else {
      this->take(random() % 4 == 0 ? PageClass::kLarge : PageClass::kBase);
    }
    if (random() % 200 == 0) this->tier().trim();
    this->expect_sound();
  }
}

TYPED_TEST_P(TierContract, SeveralThreadsTakeAndReturnFrames) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      std::vector<Frame> mine;
      for (int step = 0; step < 300; ++step) {
        if (!mine.empty() && random() % 2 == 0) {
          this->tier().give_back(mine.back());
          mine.pop_back();
        } else if (auto taken = this->tier().take(kPageClasses[random() % 2]); taken.is_ok()) {
          mine.push_back(taken.value());
        }
      }
      for (const Frame& frame : mine) this->tier().give_back(frame);
    });
  }
  for (std::thread& thread : threads) thread.join();
  this->expect_sound();
  EXPECT_EQ(this->fill(PageClass::kLarge), TypeParam::kCapacity / kLargePage);
}

REGISTER_TYPED_TEST_SUITE_P(TierContract, ANewTierHasNoFramesInUse, TheBudgetIsUsedToTheLastBasePage,
                            TheBudgetIsUsedToTheLastLargePage, AReturnedFrameMakesRoom,
                            FreedFramesOfOneClassServeTheOther, TrimKeepsWhatIsOutAndHoldsNothingElse,
                            RandomTrafficConservesEveryFrame, SeveralThreadsTakeAndReturnFrames);

}  // namespace tessera::contract
