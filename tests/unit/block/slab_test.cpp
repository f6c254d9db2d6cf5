#include "block/slab.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

Slab slab_of(Bytes bytes) { return Slab(*size_class_for(bytes), StreamId(1), TagId(2)); }

TEST(Slab, FillsABasePageWithSlots) {
  EXPECT_EQ(slab_of(512_B).slots(), 4096u);
  EXPECT_EQ(slab_of(2560_B).slots(), 819u);
  EXPECT_EQ(slab_of(Bytes((1_MiB).value() - 1)).slots(), 2u);
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
  while (slab.free_slots() > 0) EXPECT_TRUE(taken.insert(slab.take()).second);
  EXPECT_EQ(taken.size(), slab.slots());
  EXPECT_EQ(*taken.rbegin(), slab.slots() - 1);
  for (const std::uint32_t slot : {300u, 70u, 71u, 5u}) slab.give(slot);
  for (const std::uint32_t slot : {5u, 70u, 71u, 300u}) EXPECT_EQ(slab.take(), slot);
}

TEST(Slab, IsEmptyWhenAllSlotsCameBack) {
  Slab slab = slab_of(1000_KiB);
  EXPECT_TRUE(slab.is_empty());
  const auto a = slab.take();
  const auto b = slab.take();
  slab.give(a);
  EXPECT_FALSE(slab.is_empty());
  slab.give(b);
  EXPECT_TRUE(slab.is_empty());
}

TEST(Slab, ALiveSlotThatIsFreeIsInvalid) {
  Slab slab = slab_of(512_B);
  EXPECT_TRUE(slab.validate().is_ok());
  const auto slot = slab.take();
  slab.word(slot).begin(Bytes());
  EXPECT_TRUE(slab.validate().is_ok());
  slab.give(slot);
  EXPECT_EQ(slab.validate().code(), Code::kInternal);
}

}  // namespace
}  // namespace tessera
