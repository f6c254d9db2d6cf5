#include "handed_addresses.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heap_range.hpp"

namespace tessera::preload {
namespace {

using Addresses = std::vector<std::uint64_t>;

constexpr CUdeviceptr kTable = kHighHeap;
constexpr CUdeviceptr kFirst = kHighHeap + (64 << 20), kSecond = kHighHeap + (128 << 20),
                      kOther = kHighHeap + (192 << 20);
constexpr const char* kPrepare = "prepare";
constexpr const char* kJoin = "join";

class HandedAddressesTest : public testing::Test {
 protected:
  static Words given(Addresses certain, Addresses maybe = {}) {
    Words words;
    words.certain = std::move(certain);
    words.maybe = std::move(maybe);
    return words;
  }
  // What a launch with this word may need besides.
  Addresses with(CUdeviceptr word, Addresses maybe = {}) {
    Words words = given({word}, std::move(maybe));
    handed_->add_handed(words);
    return words.maybe;
  }

  std::unique_ptr<HandedAddresses> handed_ = std::make_unique<HandedAddresses>();
};

TEST_F(HandedAddressesTest, EachAddressMayLieBehindEachOther) {
  EXPECT_FALSE(handed_->any());
  handed_->note(kPrepare, given({kTable, kFirst}));
  EXPECT_TRUE(handed_->any());
  EXPECT_EQ(with(kTable), Addresses{kFirst});
  EXPECT_EQ(with(kFirst), Addresses{kTable});
  EXPECT_EQ(with(kOther), Addresses{});
}

TEST_F(HandedAddressesTest, OneAddressAloneHandsOnNothing) {
  handed_->note(kPrepare, given({kTable}));
  EXPECT_FALSE(handed_->any());
}

TEST_F(HandedAddressesTest, WhatTablesNamedForTheKernelIsHandedOnToo) {
  handed_->note(kJoin, given({kTable}, {kFirst, kSecond}));
  EXPECT_EQ(with(kTable), (Addresses{kFirst, kSecond}));
  EXPECT_EQ(with(kFirst), Addresses{}) << "it may be no address of the kernel's";
}

TEST_F(HandedAddressesTest, TheSameKernelWritesOverWhatItWroteAndOthersAdd) {
  handed_->note(kPrepare, given({kTable, kFirst}));
  handed_->note(kPrepare, given({kTable, kSecond}));
  EXPECT_EQ(with(kTable), Addresses{kSecond});
  handed_->note(kJoin, given({kTable, kOther}));
  EXPECT_EQ(with(kTable).size(), 2U);
}

TEST_F(HandedAddressesTest, ATableMayBeginBehindTheAddressThatTheKernelWasGiven) {
  handed_->note(kPrepare, given({kTable, kFirst}));
  EXPECT_EQ(with(kTable + HandedAddresses::kReach - 8), Addresses{kFirst});
  EXPECT_EQ(with(kTable + HandedAddresses::kReach), Addresses{});
  EXPECT_EQ(with(kTable - 8), Addresses{});
}

TEST_F(HandedAddressesTest, ItComesAheadOfWhatElseMayBeNeeded) {
  handed_->note(kPrepare, given({kTable, kFirst}));
  EXPECT_EQ(with(kTable, {kOther}), (Addresses{kFirst, kOther}));
}

TEST_F(HandedAddressesTest, ItIsForgottenAfterSomeLaunches) {
  handed_->note(kPrepare, given({kTable, kFirst}));
  for (std::uint64_t i = 0; i < HandedAddresses::kLaunches; ++i) EXPECT_EQ(with(kTable), Addresses{kFirst}) << i;
  EXPECT_EQ(with(kTable), Addresses{});
  EXPECT_FALSE(handed_->any()) << "later launches pay nothing";
}

TEST_F(HandedAddressesTest, ItHasABound) {
  for (std::uint64_t i = 0; i < 2 * HandedAddresses::kMost; ++i) {
    handed_->note(kPrepare, given({kTable + i * HandedAddresses::kReach, kFirst}));
  }
  EXPECT_EQ(with(kTable), Addresses{kFirst});
  EXPECT_EQ(with(kTable + (2 * HandedAddresses::kMost - 1) * HandedAddresses::kReach), Addresses{});
}

}  // namespace
}  // namespace tessera::preload
