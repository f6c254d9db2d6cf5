#include "residency/pages/live_extents.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class LiveExtentsTest : public ::testing::Test {
 protected:
  static constexpr Address kLow{32 * 1024 * 1024};
  Address at(Bytes offset) const { return kLow + offset; }
  void add(Bytes offset, Bytes bytes) { EXPECT_TRUE(extents_->add(at(offset), bytes)); }
  std::optional<Extent> find(Bytes offset) const { return extents_->at(at(offset), kLow); }

  std::unique_ptr<LiveExtents> extents_ = LiveExtents::create(kLow, 256_MiB).take();
};

TEST_F(LiveExtentsTest, AnAddressMeansTheExtentThatReachesBeyondItsPage) {
  add(1_MiB, 2_MiB);
  add(3_MiB, 10_MiB);
  add(14_MiB, 1_MiB);
  EXPECT_EQ(find(0_B), std::nullopt);
  EXPECT_EQ(find(1_MiB), (Extent{1_MiB, 2_MiB}));
  EXPECT_EQ(find(3_MiB - 1_B), (Extent{1_MiB, 2_MiB})) << "it comes from the page before";
  EXPECT_EQ(find(3_MiB), (Extent{3_MiB, 10_MiB})) << "one comes in and one goes out";
  EXPECT_EQ(find(7_MiB), (Extent{3_MiB, 10_MiB})) << "the page is inside it";
  EXPECT_EQ(find(13_MiB - 1_B), (Extent{3_MiB, 10_MiB}));
  EXPECT_EQ(find(13_MiB), std::nullopt);
  EXPECT_EQ(find(14_MiB), std::nullopt) << "it is inside its page";
}

TEST_F(LiveExtentsTest, WhatIsRemovedIsGoneAndOthersStay) {
  add(1_MiB, 3_MiB);
  add(4_MiB, 5_MiB);
  extents_->remove(at(1_MiB));
  extents_->remove(at(5_MiB));  // inside one
  extents_->remove(at(100_MiB));
  extents_->remove(Address(64));
  EXPECT_EQ(find(2_MiB), std::nullopt);
  EXPECT_EQ(find(5_MiB), (Extent{4_MiB, 5_MiB}));
}

TEST_F(LiveExtentsTest, AnExtentThatOverlapsOthersIsRefusedAndTheyStay) {
  add(10_MiB, 10_MiB + 1_B);
  add(30_MiB, 10_MiB);
  for (const auto& [offset, bytes] : std::vector<std::pair<Bytes, Bytes>>{{9_MiB, 20_MiB},
                                                                          {11_MiB, 4_MiB},
                                                                          {13_MiB, 1_MiB},
                                                                          {20_MiB, 1_MiB},
                                                                          {19_MiB, 12_MiB},
                                                                          {10_MiB, 10_MiB},
                                                                          {0_MiB, 256_MiB}}) {
    EXPECT_FALSE(extents_->add(at(offset), bytes)) << offset.value();
    EXPECT_EQ(find(12_MiB), (Extent{10_MiB, 10_MiB + 1_B}));
    EXPECT_EQ(find(35_MiB), (Extent{30_MiB, 10_MiB}));
    EXPECT_EQ(find(25_MiB), std::nullopt);
  }
  EXPECT_TRUE(extents_->add(at(30_MiB), 10_MiB)) << "the same one again";
  EXPECT_TRUE(extents_->add(at(20_MiB + 1_B), 1_MiB)) << "it begins where another one ends";
}

TEST_F(LiveExtentsTest, AClearedStretchHasNoExtents) {
  add(1_MiB, 9_MiB);
  add(20_MiB, 4_MiB);
  add(29_MiB, 9_MiB);
  add(40_MiB, 4_MiB);
  extents_->clear(at(9_MiB), 21_MiB);
  for (const Bytes offset : {5_MiB, 22_MiB, 32_MiB}) EXPECT_EQ(find(offset), std::nullopt) << offset.value();
  EXPECT_EQ(find(42_MiB), (Extent{40_MiB, 4_MiB}));
}

TEST_F(LiveExtentsTest, WhatIsNotInTheHeapIsLeftOutAndWhatIsBelowTheBaseIsCutOff) {
  EXPECT_FALSE(extents_->add(at(250_MiB), 7_MiB));
  EXPECT_FALSE(extents_->add(Address(1), 64_MiB));
  EXPECT_FALSE(extents_->add(at(8_MiB), Bytes(~std::uint64_t{0} - kLow.value())));
  EXPECT_FALSE(extents_->add(at(8_MiB), Bytes(~std::uint64_t{0}))) << "its end wraps around";
  EXPECT_EQ(find(251_MiB), std::nullopt);
  EXPECT_EQ(find(8_MiB), std::nullopt);
  EXPECT_EQ(extents_->at(Address(4096), Address(0)), std::nullopt);
  add(250_MiB, 6_MiB);
  EXPECT_EQ(extents_->at(at(256_MiB - 1_B), at(252_MiB)), (Extent{0_B, 4_MiB}));
}

TEST_F(LiveExtentsTest, RandomChangesAgreeWithAMap) {
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> model;  // begin to end, of those beyond a page
  const auto erase_overlapped = [&model](std::uint64_t begin, std::uint64_t end) {
    std::erase_if(model, [&](const auto& each) { return each.first < end && each.second > begin; });
  };
  constexpr std::uint64_t kPage = kBasePage.value(), kAll = (256_MiB).value();
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t begin = random() % (kAll / 512) * 512;
    const std::uint64_t bytes = (1 + random() % (random() % 4 == 0 ? 40'000 : 6'000)) * 512;
    const std::uint64_t end = begin + bytes;
    switch (random() % 8) {
      case 0:
        if (end <= kAll) erase_overlapped(begin, end);
        extents_->clear(at(Bytes(begin)), Bytes(bytes));
        break;
      case 1:
      case 2:
      case 3:
        if (const auto found = model.lower_bound(begin); found != model.end()) {
          extents_->remove(at(Bytes(found->first)));
          model.erase(found);
        }
        break;
      default:
        const bool overlaps =
            std::ranges::any_of(model, [&](const auto& each) { return each.first < end && each.second > begin; });
        if (end <= kAll && !overlaps && begin / kPage != (end - 1) / kPage) model[begin] = end;
        ASSERT_EQ(extents_->add(at(Bytes(begin)), Bytes(bytes)), end <= kAll && !overlaps) << round;
    }
    const std::uint64_t wanted = random() % kAll;
    const auto later = model.upper_bound(wanted);
    std::optional<Extent> expected;
    if (later != model.begin() && std::prev(later)->second > wanted) {
      const auto [from, to] = *std::prev(later);
      expected = Extent{Bytes(from), Bytes(to - from)};
    }
    ASSERT_EQ(find(Bytes(wanted)), expected) << round;
  }
}

TEST_F(LiveExtentsTest, AnExtentThatStaysIsFoundWhileItsNeighboursChange) {
  add(63_MiB, 64_MiB);
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (const Bytes offset : {61_MiB + 512_B, 127_MiB}) {
    writers.emplace_back([this, offset, &done] {
      while (!done.load()) {
        add(offset, 2_MiB - 512_B);
        extents_->remove(at(offset));
      }
    });
  }
  for (int i = 0; i < 20000; ++i) {
    for (const Bytes offset : {63_MiB, 64_MiB, 100_MiB, 127_MiB - 1_B}) {
      ASSERT_EQ(find(offset), (Extent{63_MiB, 64_MiB})) << offset.value();
    }
  }
  done.store(true);
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace tessera
