#include "planning/allocation_row.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// A program that allocates `layers` blocks of one size per iteration, frees the newest ones first, and allocates a
// block of another size after each of them.
class AllocationLogTest : public testing::Test {
 protected:
  static constexpr int kLayers = 20;

  Address make(Bytes bytes) {
    const std::uint64_t number = log_.note(bytes, kKind);
    if (const std::size_t length = log_.begun_again(); length != 0) {
      row_ = log_.row();
      EXPECT_EQ(row_->blocks.size(), length);
      ++times_;
    }
    const Address address(++next_ << 21);
    log_.note_served(number, bytes, {.address = address, .has_own_run = true, .made = ++epoch_});
    return address;
  }
  void free(Address address) { log_.note_freed(address, false, ++epoch_); }
  void go_through(int layers = kLayers) {
    std::vector<Address> made;
    for (int layer = 0; layer < layers; ++layer) made.push_back(make(3_MiB));
    for (; !made.empty(); made.pop_back()) {
      const Address passing = make(5_MiB);
      free(made.back());
      free(passing);
    }
  }

  static constexpr std::uint64_t kKind = 9;
  AllocationLog log_;
  std::optional<AllocationRow> row_;
  int times_ = 0;
  std::uint64_t next_ = 0;
  Epoch epoch_;
};

TEST_F(AllocationLogTest, EqualAllocationsAreNoRow) {
  for (int layer = 0; layer < 200; ++layer) make(3_MiB);
  EXPECT_FALSE(row_);
}

TEST_F(AllocationLogTest, RecognisesARowSoonAfterItRepeats) {
  make(64_MiB);
  go_through();
  EXPECT_FALSE(row_);
  for (std::size_t made = 0; made < kContext; ++made) make(3_MiB);
  ASSERT_TRUE(row_);
  EXPECT_EQ(row_->blocks.size(), 2u * kLayers);
  EXPECT_EQ(row_->last, kContext - 1);
  EXPECT_EQ(row_->beside, 64_MiB);
}

TEST_F(AllocationLogTest, StepsCountFromTheRowsFirstAllocation) {
  make(64_MiB);
  go_through();
  go_through();
  ASSERT_TRUE(row_);
  const auto& blocks = row_->blocks;
  EXPECT_EQ(blocks[0].begin, 0u);
  EXPECT_EQ(blocks[kLayers - 1].begin, static_cast<std::uint64_t>(kLayers - 1));
  EXPECT_EQ(blocks[kLayers].begin, static_cast<std::uint64_t>(kLayers));        // the first that passes
  EXPECT_EQ(blocks[kLayers - 1].end, static_cast<std::uint64_t>(kLayers + 1));  // freed right after it
  EXPECT_EQ(blocks[kLayers].end, static_cast<std::uint64_t>(kLayers + 2));
  EXPECT_EQ(blocks[0].end, static_cast<std::uint64_t>(4 * kLayers - 2));
  for (const auto& block : blocks) EXPECT_EQ(block.kind, kKind);
}

TEST_F(AllocationLogTest, ReportsARowAtItsRepetitionAndAfterItsSecondPass) {
  make(64_MiB);
  for (int pass = 0; pass < 6; ++pass) go_through();
  EXPECT_EQ(times_, 2);
}

TEST_F(AllocationLogTest, ABlockOutlivingTheRowHasNoEnd) {
  make(64_MiB);
  Address stays;
  for (int pass = 0; pass < 3 && !row_; ++pass) {
    go_through();
    const Address newer = make(7_MiB);
    if (stays) free(stays);
    stays = newer;
  }
  ASSERT_TRUE(row_);
  EXPECT_EQ(row_->blocks.size(), 2u * kLayers + 1);
  for (const auto& block : row_->blocks) EXPECT_EQ(block.end == 0, block.bytes == 7_MiB);
}

TEST_F(AllocationLogTest, ADifferentLiveSizeAtTheStartIsAnotherRow) {
  make(64_MiB);
  go_through();
  make(1_GiB);  // stays allocated
  row_.reset();
  go_through();
  EXPECT_FALSE(row_);
  go_through();
  EXPECT_TRUE(row_);
}

TEST_F(AllocationLogTest, AnInterruptionForgetsAllRows) {
  make(64_MiB);
  go_through();
  log_.interrupt();
  go_through();
  EXPECT_FALSE(row_);
  go_through();
  EXPECT_TRUE(row_);
}

TEST_F(AllocationLogTest, ReportsMatchedAllocationsAndTheirAddresses) {
  make(64_MiB);
  go_through();
  for (std::size_t made = 0; made < kContext; ++made) make(3_MiB);
  ASSERT_TRUE(row_);
  EXPECT_EQ(log_.kept_to(row_->signatures, row_->last), 2u * kLayers + kContext);
  EXPECT_EQ(log_.kept_to(row_->signatures, row_->last + 1), 0u);
  const AllocationLog::Noted& newest = log_.before_last(0);
  EXPECT_EQ(newest.stay.address, Address(next_ << 21));
  EXPECT_EQ(newest.stay.made, epoch_);
  EXPECT_EQ(newest.stay.freed, Epoch()) << "it lives";
  const AllocationLog::Noted& ended = log_.before_last(kContext);  // the last that passed
  EXPECT_EQ(ended.block.bytes, 5_MiB);
  EXPECT_EQ(ended.stay.freed, ended.stay.made + 2) << "the layer was freed before it";
}

TEST_F(AllocationLogTest, DropsTheOldest) {
  const Address first = make(64_MiB);
  for (std::size_t i = 0; i < AllocationLog::kMost + 10; ++i) free(make(Bytes((2 << 20) + 512 * i)));
  free(first);
  go_through();
  go_through();
  EXPECT_TRUE(row_);
}

}  // namespace
}  // namespace tessera
