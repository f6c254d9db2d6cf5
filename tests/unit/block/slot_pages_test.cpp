#include "block/slot_pages.hpp"

#include <atomic>
#include <thread>

#include "slot_cache_fixture.hpp"

namespace tessera {
namespace {

using SlotPagesTest = SlotCacheTest;

TEST_F(SlotPagesTest, OnlyEmptySlabsAreRemoved) {
  add();
  add();
  const auto slots = take(1);
  EXPECT_EQ(slot_pages_.empty_bytes(), kBasePage);
  auto gone = slot_pages_.remove_empty(kEverything, true);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_NE(gone[0].run(), pages().find(slots[0]));
  EXPECT_EQ(slot_pages_.pages(), 1u);
  EXPECT_EQ(slot_pages_.empty_bytes(), Bytes());
  give_back(gone);
}

TEST_F(SlotPagesTest, AnEmptySlabInUseByAStreamIsRemovedOnlyWithWaiting) {
  Slab& slab = add();
  auto held = hold(b_);
  residency().note_free(slab.run, b_);
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(slot_pages_.remove_empty(kEverything, true).empty());
  auto gone = slot_pages_.remove_empty(kEverything, false);
  EXPECT_EQ(gone.size(), 1u);
  held.reset();
  give_back(gone);
}

TEST_F(SlotPagesTest, ClassesShareAPageUntilTheyFillPagesOfTheirOwn) {
  const Address one = allocate(512_B), two = allocate(512_KiB);
  EXPECT_EQ(pages().find(one), pages().find(two));
  EXPECT_EQ(pages().find(one)->live.load(), 2u);
  EXPECT_EQ(slot_pages_.pages(), 1u);
  // 512 KiB, 512 KiB, 1 MiB, and then whole pages.
  std::vector<Bytes> sizes{slab_at(two).bytes()};
  while (sizes.back() != kBasePage) {
    while (!take(1).empty()) {
    }
    sizes.push_back(slab_at(allocate(kQuarter)).bytes());
  }
  EXPECT_EQ(sizes, (std::vector<Bytes>{512_KiB, 512_KiB, 1_MiB, 2_MiB}));
}

TEST_F(SlotPagesTest, ASharedPageIsRemovedWhenNoSlotIsInUse) {
  const Address one = allocate(4_KiB), two = allocate(512_KiB);
  cache_.give(slab_at(one), one);
  EXPECT_EQ(slot_pages_.empty_bytes(), Bytes());
  EXPECT_TRUE(slot_pages_.remove_empty(kEverything, true).empty());
  cache_.give(slab_at(two), two);
  EXPECT_EQ(slot_pages_.empty_bytes(), kBasePage);
  expect_sound(0);
  const auto gone = slot_pages_.remove_empty(kEverything, true);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].slabs.size(), 2u);
  EXPECT_EQ(slot_pages_.pages(), 0u);
  EXPECT_EQ(slot_pages_.empty_bytes(), Bytes());
  EXPECT_TRUE(take(1).empty());
  give_back(gone);
  expect_sound(0);
}

TEST_F(SlotPagesTest, ASharedPageThatIsPutBackServesAsBefore) {
  const Address one = allocate(4_KiB), two = allocate(512_KiB);
  cache_.give(slab_at(one), one);
  cache_.give(slab_at(two), two);
  auto gone = slot_pages_.remove_empty(kEverything, true);
  ASSERT_EQ(gone.size(), 1u);
  slot_pages_.put_back(std::move(gone[0]));
  EXPECT_EQ(slot_pages_.empty_bytes(), kBasePage);
  EXPECT_EQ(take(1), std::vector{two});
  EXPECT_EQ(pages().find(allocate(64_KiB)), pages().find(two));  // and is split further
}

// The slab of a part that was split off, and is not in the cache yet, keeps its page.
TEST_F(SlotPagesTest, ThreadsMayCutAndRemoveConcurrently) {
  std::atomic<bool> done{false};
  std::thread remover([&] {
    while (!done) give_back(slot_pages_.remove_empty(kEverything, false));
  });
  for (int round = 0; round < 2000; ++round) {
    const Address slot = allocate(round % 2 ? 4_KiB : 512_KiB);
    cache_.give(slab_at(slot), slot);
  }
  done = true;
  remover.join();
  expect_sound(0);
}

}  // namespace
}  // namespace tessera
