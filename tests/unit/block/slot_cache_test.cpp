#include "block/slot_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

constexpr Bytes kQuarter = 512_KiB;  // four slots per slab

class SlotCacheTest : public LayerTest {
 protected:
  SlotCacheTest() : a_(new_stream()), b_(new_stream()) {}

  void TearDown() override {
    give_back(cache_.remove_all());
    LayerTest::TearDown();
  }
  CacheKey key(TagId tag = TagId(1)) const { return {*size_class_for(kQuarter), a_, tag}; }
  Slab& add() {
    auto slab = std::make_unique<Slab>(key().size_class, a_, TagId(1));
    slab->run = ::tessera::take(pages().acquire(kBasePage, {8, a_, TagId(1)}, {slab.get(), {}}));
    Slab& added = *slab;
    cache_.add(std::move(slab));
    return added;
  }
  std::vector<Address> take(std::size_t count, TagId tag = TagId(1)) {
    std::vector<Address> slots(count);
    std::size_t taken = 0;
    while (taken < count) {
      const std::size_t more = cache_.take(key(tag), std::span(slots).subspan(taken));
      if (more == 0) break;
      taken += more;
    }
    slots.resize(taken);
    return slots;
  }
  void give_late(Slab& slab, Address slot) {
    const std::uint32_t index = residency().streams().slot_of(b_);
    const std::uint64_t epoch = residency().note_free(slab.run, b_);
    cache_.give_late(slab, slot, {std::uint64_t{1} << index, epoch});
  }
  void give_back(std::vector<std::unique_ptr<Slab>> slabs) {
    for (const auto& slab : slabs) expect_ok(pages().release(slab->run));
  }
  // `out` slots of `slab` are in the test's hands.
  void expect_sound(std::uint32_t out) {
    expect_ok(cache_.validate([out](const Slab&) { return out; }));
  }

  const StreamId a_, b_;
  SlotCache cache_{residency().streams()};
};

TEST_F(SlotCacheTest, TakesWhatIsThereAndNoMore) {
  EXPECT_TRUE(take(1).empty());
  add();
  EXPECT_EQ(take(3).size(), 3u);
  EXPECT_EQ(take(3).size(), 1u);
  EXPECT_TRUE(take(1).empty());
  expect_sound(4);
}

TEST_F(SlotCacheTest, CountsWhatIsOutAsLive) {
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

TEST_F(SlotCacheTest, AnotherTagHasOtherSlabs) {
  add();
  EXPECT_TRUE(take(1, TagId(2)).empty());
}

TEST_F(SlotCacheTest, ASlotFreedOnAnotherStreamWaitsInLine) {
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

TEST_F(SlotCacheTest, WhatStandsInLineCanBeWaitedFor) {
  Slab& slab = add();
  const auto slots = take(4);
  for (const Address slot : slots) give_late(slab, slot);
  const Late late = cache_.latest();
  EXPECT_EQ(late.epoch, slab.run->last_work());
  expect_ok(residency().poll_streams());
  expect_ok(residency().streams().wait(late.mask, late.epoch));
  cache_.settle_all();
  EXPECT_TRUE(slab.is_empty());
  expect_sound(0);
}

TEST_F(SlotCacheTest, TheSlotsOfAStreamThatIsGoneStandInLine) {
  Slab& slab = add();
  const auto slots = take(1);
  auto held = hold(b_);
  const std::uint64_t epoch = residency().note_free(slab.run, b_);
  const std::uint64_t mask = std::uint64_t{1} << residency().streams().slot_of(b_);
  cache_.retire(a_, {mask, epoch});
  expect_sound(1);
  EXPECT_TRUE(take(1).empty());
  EXPECT_EQ(cache_.empty_bytes(), Bytes());
  held.reset();
  expect_ok(driver().synchronize(b_));
  expect_ok(residency().poll_streams());
  cache_.settle_all();
  EXPECT_EQ(take(4).size(), 3u);
}

TEST_F(SlotCacheTest, OnlySlabsWithoutASlotInUseLeave) {
  add();
  add();
  const auto slots = take(1);
  EXPECT_EQ(cache_.empty_bytes(), kBasePage);
  auto gone = cache_.remove_empty(kEverything, true);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_NE(gone[0]->run, pages().find(slots[0]));
  EXPECT_EQ(cache_.slabs(), 1u);
  EXPECT_EQ(cache_.empty_bytes(), Bytes());
  give_back(std::move(gone));
}

TEST_F(SlotCacheTest, AnEmptySlabInUseByAStreamLeavesOnlyWhenToldToWait) {
  Slab& slab = add();
  auto held = hold(b_);
  residency().note_free(slab.run, b_);
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.remove_empty(kEverything, true).empty());
  auto gone = cache_.remove_empty(kEverything, false);
  EXPECT_EQ(gone.size(), 1u);
  held.reset();
  give_back(std::move(gone));
}

TEST_F(SlotCacheTest, ASlotThatIsNowhereIsInvalid) {
  add();
  take(1);
  EXPECT_EQ(cache_.validate([](const Slab&) { return 0u; }).code(), Code::kInternal);
  expect_sound(1);
}

}  // namespace
}  // namespace tessera
