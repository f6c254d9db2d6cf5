#include "block/slab.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace tessera {
namespace {

Slab slab_of(Bytes bytes) { return Slab(*size_class_for(bytes), StreamId(1), TagId(2)); }

std::uint32_t take_one(Slab& slab) {
  std::uint32_t slot = 0;
  EXPECT_EQ(slab.take_line({&slot, 1}), 1u);
  return slot;
}

std::vector<std::uint32_t> take_line(Slab& slab) {
  std::vector<std::uint32_t> slots(Slab::kLineSlots);
  slots.resize(slab.take_line(slots));
  return slots;
}

TEST(Slab, FillsABasePageWithSlots) {
  EXPECT_EQ(slab_of(512_B).slots(), 4096u);
  EXPECT_EQ(slab_of(2560_B).slots(), 819u);
  EXPECT_EQ(slab_of(1_MiB).slots(), 2u);
}

TEST(Slab, KnowsTheSlotOfEveryByteInEveryClass) {
  for (std::uint32_t index = 0; index < kSlotClasses; ++index) {
    const Slab slab(SizeClass{index}, StreamId(), TagId());
    for (Bytes offset; offset < kBasePage; offset += Bytes(509)) {
      const std::uint64_t expected = offset / kSlotBytes[index];
      const auto slot = slab.slot_at(offset);
      ASSERT_EQ(slot.has_value(), expected < slab.slots());
      if (slot) {
        ASSERT_EQ(*slot, expected) << index << " " << offset.value();
      }
    }
    ASSERT_EQ(slab.slot_at(slab.offset(slab.slots() - 1)), slab.slots() - 1);
  }
}

TEST(Slab, GivesTheLowestFreeSlotAndEachOnce) {
  Slab slab = slab_of(5_KiB);
  std::set<std::uint32_t> taken;
  while (slab.free_slots() > 0) EXPECT_TRUE(taken.insert(take_one(slab)).second);
  EXPECT_EQ(taken.size(), slab.slots());
  EXPECT_EQ(*taken.rbegin(), slab.slots() - 1);
  for (const std::uint32_t slot : {300u, 70u, 71u, 5u}) slab.give(slot);
  for (const std::uint32_t slot : {5u, 70u, 71u, 300u}) EXPECT_EQ(take_one(slab), slot);
}

TEST(Slab, GivesFreeSlotsOfOneLine) {
  Slab slab = slab_of(5_KiB);
  EXPECT_EQ(take_line(slab), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  slab.give(6);
  slab.give(3);
  EXPECT_EQ(take_line(slab), (std::vector<std::uint32_t>{3, 6}));
  EXPECT_EQ(take_line(slab).front(), 8u);
  EXPECT_EQ(slab.free_slots(), slab.slots() - 16);
}

// So threads that take lines write to separate cache lines, and no line spans many bytes.
TEST(Slab, TheWordsOfALineShareNoCacheLineWithOthers) {
  for (std::uint32_t index = 0; index < kSlotClasses; ++index) {
    Slab slab(SizeClass{index}, StreamId(), TagId());
    std::set<std::uintptr_t> seen;
    while (slab.free_slots() > 0) {
      const auto slots = take_line(slab);
      EXPECT_TRUE(slots.size() == 1 || kSlotBytes[index] * slots.size() <= Slab::kLineBytes);
      std::set<std::uintptr_t> lines;
      for (const auto slot : slots) {
        lines.insert(reinterpret_cast<std::uintptr_t>(&slab.word(slot)) / 64);
      }
      EXPECT_EQ(lines.size(), 1u);
      EXPECT_TRUE(seen.insert(*lines.begin()).second);
    }
    // Words take a thousandth of the page, unless slots are too small for that.
    if (kSlotBytes[index] < 8_KiB) continue;
    EXPECT_LE(seen.size() * 64, (kBasePage / 1000).value());
  }
}

TEST(Slab, IsEmptyWhenAllSlotsAreFree) {
  Slab slab = slab_of(1000_KiB);
  EXPECT_TRUE(slab.is_empty());
  const auto a = take_one(slab);
  const auto b = take_one(slab);
  slab.give(a);
  EXPECT_FALSE(slab.is_empty());
  slab.give(b);
  EXPECT_TRUE(slab.is_empty());
}

TEST(Slab, ALiveSlotThatIsFreeIsInvalid) {
  Slab slab = slab_of(512_B);
  EXPECT_TRUE(slab.validate().is_ok());
  const auto slot = take_one(slab);
  slab.word(slot).begin(Bytes());
  EXPECT_TRUE(slab.validate().is_ok());
  slab.give(slot);
  EXPECT_EQ(slab.validate().code(), Code::kInternal);
}

}  // namespace
}  // namespace tessera
