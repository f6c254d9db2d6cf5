// Slots of 512 KiB, for tests of the slot cache.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "block/slot_cache.hpp"
#include "block/slot_pages.hpp"
#include "layer_fixture.hpp"

namespace tessera {

inline constexpr Bytes kQuarter = 512_KiB;  // four slots per slab

class SlotCacheTest : public LayerTest {
 protected:
  SlotCacheTest() : a_(new_stream()), b_(new_stream()) {}

  void TearDown() override {
    give_back(slot_pages_.remove_all());
    LayerTest::TearDown();
  }
  CacheKey key(TagId tag = TagId(1)) const { return {*size_class_for(kQuarter), a_, tag}; }
  // Adds a slab that is a page of its own, with all its slots free.
  Slab& add() {
    SlotPage page;
    page.slabs.push_back(std::make_unique<Slab>(key().size_class, a_, TagId(1)));
    Slab& added = *page.slabs.front();
    added.run = acquire(page);
    slot_pages_.put_back(std::move(page));
    return added;
  }
  Run* acquire(const SlotPage& page) {
    return ::tessera::take(pages().acquire(kBasePage, {8, a_, TagId(1)}, page.owner()));
  }
  // Allocates a slot, as a program does.
  Address allocate(Bytes bytes) {
    const CacheKey wanted{*size_class_for(bytes), a_, TagId(1)};
    Address slot;
    if (cache_.take(wanted, {&slot, 1}) == 1 || slot_pages_.cut(wanted, {&slot, 1}) == 1) return slot;
    SlotPage page = slot_pages_.new_page(wanted);
    page.record().run = acquire(page);
    EXPECT_EQ(slot_pages_.add(std::move(page), wanted, {&slot, 1}), 1u);
    return slot;
  }
  Slab& slab_at(Address address) {
    Run* const run = pages().find(address);
    auto* const owner = static_cast<BlockOwner*>(run->owner.record);
    if (owner->kind == OwnerKind::kSlab) return static_cast<Slab&>(*owner);
    return *static_cast<SharedPage*>(owner)->slab_at(address - run->address);
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
    const Epoch epoch = residency().note_free(slab.run, b_);
    cache_.give_late(slab, slot, {std::uint64_t{1} << index, epoch});
  }
  void give_back(const std::vector<SlotPage>& gone) {
    for (const SlotPage& page : gone) expect_ok(pages().release(page.run()));
  }
  // `out` slots of `slab` are allocated by the test.
  void expect_sound(std::uint32_t out) {
    expect_ok(cache_.validate([out](const Slab&) { return out; }));
    expect_ok(slot_pages_.validate());
  }

  const StreamId a_, b_;
  SlotCache cache_{residency().streams()};
  SlotPages slot_pages_{residency().streams(), cache_};
};

}  // namespace tessera
