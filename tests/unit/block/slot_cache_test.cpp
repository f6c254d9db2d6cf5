#include "slot_cache_fixture.hpp"

namespace tessera {
namespace {

TEST_F(SlotCacheTest, TakesAvailableSlotsAndNoMore) {
  EXPECT_TRUE(take(1).empty());
  add();
  EXPECT_EQ(take(3).size(), 3u);
  EXPECT_EQ(take(3).size(), 1u);
  EXPECT_TRUE(take(1).empty());
  expect_sound(4);
}

TEST_F(SlotCacheTest, CountsSlotsInUseAsLive) {
  Slab& slab = add();
  EXPECT_TRUE(slab.run->is_dead());
  slab.run->fresh.store(false);
  const auto slots = take(2);
  EXPECT_EQ(slab.run->live.load(), 2u);
  EXPECT_TRUE(slab.run->fresh.load());
  cache_.give(slab, slots[0]);
  give_late(slab, slots[1]);
  EXPECT_TRUE(slab.run->is_dead());
}

TEST_F(SlotCacheTest, FillsTheLowestSlabFirst) {
  Slab& one = add();
  Slab& two = add();
  const Slab& low = one.run->address < two.run->address ? one : two;
  const auto slots = take(5);
  EXPECT_EQ(slots[0], low.run->address);
  EXPECT_EQ(slots[3], low.run->address + 3 * kQuarter);
  EXPECT_EQ(pages().find(slots[4]), (&low == &one ? two : one).run);
}

TEST_F(SlotCacheTest, FillsTheFullestSlabBeforeALowerOne) {
  Slab& one = add();
  Slab& two = add();
  Slab& low = one.run->address < two.run->address ? one : two;
  Slab& high = &low == &one ? two : one;
  const auto slots = take(8);
  ASSERT_EQ(slots.size(), 8u);
  for (std::size_t i = 0; i < 3; ++i) cache_.give(low, slots[i]);
  cache_.give(high, slots[4]);
  const auto next = take(2);
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(pages().find(next[0]), high.run) << "three quarters of it are in use";
  EXPECT_EQ(pages().find(next[1]), low.run) << "the other is full";
  cache_.give(low, slots[3]);
  cache_.give(low, next[1]);
  EXPECT_TRUE(low.is_empty()) << "a sparse slab stays sparse, so that its page can go";
  for (const Address slot : {slots[5], slots[6], slots[7], next[0]}) cache_.give(high, slot);
  expect_sound(0);
}

TEST_F(SlotCacheTest, AnotherTagHasOtherSlabs) {
  add();
  EXPECT_TRUE(take(1, TagId(2)).empty());
}

TEST_F(SlotCacheTest, ASlotFreedOnAnotherStreamIsQueued) {
  Slab& slab = add();
  const auto slots = take(4);
  auto held = hold(b_);
  give_late(slab, slots[2]);
  EXPECT_TRUE(cache_.has_late(key()));
  expect_sound(3);
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.settle(key()));
  EXPECT_TRUE(take(1).empty());
  held.reset();
  expect_ok(driver().synchronize(b_));
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.settle(key()));
  EXPECT_EQ(take(1), std::vector{slots[2]});
  EXPECT_FALSE(cache_.has_late(key()));
}

TEST_F(SlotCacheTest, QueuedSlotsCanBeWaitedFor) {
  Slab& slab = add();
  const auto slots = take(4);
  for (const Address slot : slots) give_late(slab, slot);
  const Late late = cache_.latest();
  EXPECT_EQ(late.epoch, slab.run->last_work());
  expect_ok(residency().poll_streams());
  expect_ok(residency().waits().wait(late.mask, late.epoch));
  cache_.settle_all();
  EXPECT_TRUE(slab.is_empty());
  expect_sound(0);
}

TEST_F(SlotCacheTest, SlotsOfADestroyedStreamAreQueued) {
  Slab& slab = add();
  const auto slots = take(1);
  auto held = hold(b_);
  const Epoch epoch = residency().note_free(slab.run, b_);
  const std::uint64_t mask = std::uint64_t{1} << residency().streams().slot_of(b_);
  cache_.retire(a_, {mask, epoch});
  expect_sound(1);
  EXPECT_TRUE(take(1).empty());
  EXPECT_EQ(slot_pages_.empty_bytes(), Bytes());
  held.reset();
  expect_ok(driver().synchronize(b_));
  expect_ok(residency().poll_streams());
  cache_.settle_all();
  EXPECT_EQ(take(4).size(), 3u);
}

TEST_F(SlotCacheTest, ALostSlotIsInvalid) {
  add();
  take(1);
  EXPECT_EQ(cache_.validate([](const Slab&) { return 0u; }).code(), Code::kInternal);
  expect_sound(1);
}

}  // namespace
}  // namespace tessera
