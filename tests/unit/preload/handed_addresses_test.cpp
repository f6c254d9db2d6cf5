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
  // The other words that a launch with this word may need.
  Addresses with(CUdeviceptr word, Addresses maybe = {}) {
    Words words;
    words.certain = {word};
    words.maybe = std::move(maybe);
    if (any_.load() && handed_->may_add(words.certain, in_one_block_)) handed_->add_handed(words, in_one_block_);
    return words.maybe;
  }
  void note(const char* kernel, Addresses given, Addresses named = {}) { handed_->note(kernel, given, named); }

  static bool always(CUdeviceptr, CUdeviceptr) { return true; }

  HandedAddresses::InOneBlock in_one_block_ = always;
  std::atomic<bool> any_{false};
  std::unique_ptr<HandedAddresses> handed_ = std::make_unique<HandedAddresses>(any_);
};

TEST_F(HandedAddressesTest, EachAddressMayLieBehindEachOther) {
  EXPECT_FALSE(any_.load());
  note(kPrepare, {kTable, kFirst});
  EXPECT_TRUE(any_.load());
  EXPECT_EQ(with(kTable), Addresses{kFirst});
  EXPECT_EQ(with(kFirst), Addresses{kTable});
  EXPECT_EQ(with(kOther), Addresses{});
}

TEST_F(HandedAddressesTest, ASingleAddressIsNotHandedOn) {
  note(kPrepare, {kTable});
  EXPECT_FALSE(any_.load());
}

TEST_F(HandedAddressesTest, AddressesFromTablesAreHandedOn) {
  note(kJoin, {kTable}, {kFirst, kSecond});
  EXPECT_EQ(with(kTable), (Addresses{kFirst, kSecond}));
  EXPECT_EQ(with(kFirst), Addresses{}) << "it may be no address of the kernel's";
}

TEST_F(HandedAddressesTest, TheSameKernelWritesOverWhatItWroteAndOthersAdd) {
  note(kPrepare, {kTable, kFirst});
  note(kPrepare, {kTable, kSecond});
  EXPECT_EQ(with(kTable), Addresses{kSecond});
  note(kJoin, {kTable, kOther});
  EXPECT_EQ(with(kTable).size(), 2U);
}

TEST_F(HandedAddressesTest, ATableMayBeginBehindTheAddressThatTheKernelWasGiven) {
  note(kPrepare, {kTable, kFirst});
  EXPECT_EQ(with(kTable + HandedAddresses::kReach - 8), Addresses{kFirst});
  EXPECT_EQ(with(kTable + HandedAddresses::kReach), Addresses{});
  EXPECT_EQ(with(kTable - 8), Addresses{});
}

// Small blocks lie close together.
TEST_F(HandedAddressesTest, ATableDoesNotGoOnInTheNextBlock) {
  note(kPrepare, {kTable, kFirst});
  in_one_block_ = [](CUdeviceptr at, CUdeviceptr word) { return at / 1024 == word / 1024; };
  EXPECT_EQ(with(kTable), Addresses{kFirst});
  EXPECT_EQ(with(kTable + 1016), Addresses{kFirst});
  EXPECT_EQ(with(kTable + 1024), Addresses{});
}

TEST_F(HandedAddressesTest, HandedAddressesComeBeforeOtherCandidates) {
  note(kPrepare, {kTable, kFirst});
  EXPECT_EQ(with(kTable, {kOther}), (Addresses{kFirst, kOther}));
}

TEST_F(HandedAddressesTest, HandedAddressesExpireAfterSomeLaunches) {
  note(kPrepare, {kTable, kFirst});
  for (std::uint64_t i = 0; i < HandedAddresses::kLaunches; ++i) EXPECT_EQ(with(kTable), Addresses{kFirst}) << i;
  EXPECT_EQ(with(kTable), Addresses{});
  EXPECT_FALSE(any_.load()) << "later launches pay nothing";
}

TEST_F(HandedAddressesTest, DropsTheOldestAboveTheLimit) {
  for (std::uint64_t i = 0; i < 2 * HandedAddresses::kMost; ++i)
    note(kPrepare, {kTable + i * HandedAddresses::kReach, kFirst});
  EXPECT_EQ(with(kTable), Addresses{});
  EXPECT_EQ(with(kTable + (2 * HandedAddresses::kMost - 1) * HandedAddresses::kReach), Addresses{kFirst});
}

// Otherwise every launch of a long-running program would search for tables.
TEST_F(HandedAddressesTest, DoesNotSearchForExpiredAddresses) {
  for (std::uint64_t i = 0; i < 2 * HandedAddresses::kMost; ++i) {
    note(kPrepare, {kTable + 2 * i * HandedAddresses::kReach, kFirst});
  }
  const std::uint64_t first = kTable + 2 * HandedAddresses::kReach,
                      last = kTable + (4 * HandedAddresses::kMost - 2) * HandedAddresses::kReach;
  EXPECT_FALSE(handed_->may_add({&first, 1}, in_one_block_));
  EXPECT_TRUE(handed_->may_add({&last, 1}, in_one_block_));
}

// The address of the table need not come first.
TEST_F(HandedAddressesTest, TheNewestComesFirstAndReplacesEarlierWrites) {
  note(kPrepare, {kFirst, kTable});
  note(kJoin, {kTable, kOther});
  EXPECT_EQ(with(kTable), (Addresses{kOther, kFirst}));
  note(kPrepare, {kSecond, kTable});
  EXPECT_EQ(with(kTable), (Addresses{kSecond, kOther}));
}

}  // namespace
}  // namespace tessera::preload
