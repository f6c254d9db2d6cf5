#include "pointer_tables.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heap_range.hpp"

namespace tessera::preload {
namespace {

using Addresses = std::vector<std::uint64_t>;

constexpr CUdeviceptr kSegment = kHighHeap;  // of 2 MiB, with other data in it
constexpr std::size_t kSegmentBytes = 2 << 20;
constexpr CUdeviceptr kSmall = kHighHeap + (8 << 20);  // a separate block
constexpr std::size_t kSmallBytes = 4096;
constexpr CUdeviceptr kBlock = kHighHeap + (1 << 30);
constexpr std::size_t kBlockBytes = 4 << 20;

constexpr std::uint64_t kPacked = kHighHeap + (32 << 20);  // an uncertain word

CUdeviceptr block(int i) { return kBlock + static_cast<std::uint64_t>(i) * kBlockBytes; }

class PointerTablesTest : public testing::Test {
 protected:
  // Copies the addresses of some blocks to a place.
  void copy(CUdeviceptr to, std::initializer_list<int> blocks, CUdeviceptr holder = kSegment,
            std::size_t bytes = kSegmentBytes) {
    tables_->forget(to, 8 * blocks.size());
    CUdeviceptr place = to;
    for (const int i : blocks) {
      EXPECT_TRUE(tables_->add(place, block(i), holder, bytes));
      place += 8;
    }
    tables_->join(to, 8 * blocks.size());
  }
  // The words that a launch with this word may reach, in order of need.
  Addresses with(CUdeviceptr word) const {
    Words words;
    words.certain = {word};
    words.maybe = {kPacked};
    tables_->add_pointees(words);
    EXPECT_EQ(words.certain, Addresses{word}) << "a kernel need not use all that a table names";
    return words.maybe;
  }

  HeapRange heap_{kHighHeap};
  std::atomic<bool> any_{false};
  std::unique_ptr<PointerTables> tables_ = std::make_unique<PointerTables>(any_);
};

TEST_F(PointerTablesTest, TheEntryAtTheWordComesFirst) {
  copy(kSegment + 4096, {0, 1, 2});
  EXPECT_EQ(with(kSegment + 4096 + 8), (Addresses{block(1), block(2), block(0), kPacked}));
}

TEST_F(PointerTablesTest, EntriesElsewhereInTheBlockComeLast) {
  copy(kSegment + 4096, {0, 1});
  copy(kSegment + 65536, {2});
  copy(kSegment + 8192, {3});
  EXPECT_EQ(with(kSegment + 8000), (Addresses{kPacked, block(3), block(2), block(0), block(1)}))
      << "the next one behind it first";
}

TEST_F(PointerTablesTest, AnAddressBehindATableIsOutsideIt) {
  copy(kSegment + 4096, {0, 1});
  EXPECT_EQ(with(kSegment + 4096 + 16), (Addresses{kPacked, block(0), block(1)}));
}

TEST_F(PointerTablesTest, ASmallBlockIsUsedAsAWhole) {
  copy(kSmall + 64, {0}, kSmall, kSmallBytes);
  EXPECT_EQ(with(kSmall), (Addresses{block(0), kPacked}));
}

TEST_F(PointerTablesTest, EntriesThatAreCopiedOneByOneMakeOneTable) {
  for (int i = 0; i < 4; ++i) copy(kSegment + 4096 + static_cast<CUdeviceptr>(8 * i), {i});
  EXPECT_EQ(with(kSegment + 4096), (Addresses{block(0), block(1), block(2), block(3), kPacked}));
}

// The second kernel may find the table that the first one wrote.
TEST_F(PointerTablesTest, ATableThatALaunchMayHaveOverwrittenComesLater) {
  copy(kSegment + 4096, {0, 1});
  (void)with(kSegment + 4096);
  EXPECT_EQ(with(kSegment + 4096), (Addresses{kPacked, block(0), block(1)}));
  copy(kSegment + 4096, {2});
  EXPECT_EQ(with(kSegment + 4096), (Addresses{block(2), kPacked, block(1)})) << "copied anew";
  copy(kSegment + 8192, {3});
  (void)with(kSegment + 16384);
  EXPECT_EQ(with(kSegment + 8192).front(), block(3))
      << "a kernel that was given a place behind it cannot write over it";
  copy(kSegment + 8192, {3});
  (void)with(kSegment + 6000);
  EXPECT_EQ(with(kSegment + 8192).front(), kPacked) << "one that was given a place before it can";
}

TEST_F(PointerTablesTest, ATableOfTablesIsFollowed) {
  copy(kSegment + 4096, {0, 1});
  EXPECT_TRUE(tables_->add(kSmall, kSegment + 4096, kSmall, kSmallBytes));
  EXPECT_EQ(with(kSmall), (Addresses{kSegment + 4096, block(0), block(1), kPacked}));
}

TEST_F(PointerTablesTest, OverwrittenEntriesAreDroppedAndTheOthersKept) {
  copy(kSegment + 4096, {0, 1, 2, 3});
  tables_->forget(kSegment + 4096 + 12, 8);  // one half each of two entries
  EXPECT_EQ(with(kSegment + 4096 + 24), (Addresses{block(3), kPacked, block(0)})) << "a table of its own now";
  tables_->forget(kSegment, kSegmentBytes);
  EXPECT_FALSE(any_.load());
}

TEST_F(PointerTablesTest, AFreedBlockDropsItsTablesAndEntries) {
  copy(kSegment + 4096, {0, 1});
  copy(kSegment + 8192, {1});
  tables_->forget_block(block(1), kBlockBytes);
  EXPECT_EQ(with(kSegment + 4096), (Addresses{block(0), kPacked}));
  tables_->forget_block(kSegment, kSegmentBytes);
  EXPECT_FALSE(any_.load());
}

TEST_F(PointerTablesTest, ADeviceCopyCarriesEntriesAndTables) {
  copy(kSegment + 4096, {0, 1});
  std::vector<std::pair<std::size_t, std::size_t>> stretches;
  tables_->visit_stretches(kSegment + 4096 + 8, 64,
                           [&](std::size_t offset, std::size_t bytes) { stretches.emplace_back(offset, bytes); });
  EXPECT_EQ(stretches, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 8}}));
}

}  // namespace
}  // namespace tessera::preload
