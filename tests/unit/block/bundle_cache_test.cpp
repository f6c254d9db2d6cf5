#include "block/bundle_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BundleCacheTest : public LayerTest {
 protected:
  BundleCacheTest() : a_(new_stream()), b_(new_stream()) {}

  void TearDown() override {
    give_back(cache_.remove_all());
    LayerTest::TearDown();
  }
  SharingKey key(TagId tag = kTag) const { return {a_, tag}; }
  // The first block of a new bundle, live like all blocks taken here.
  Address add(Bytes run, Bytes block) {
    auto bundle = std::make_unique<Bundle>(run, a_, kTag);
    bundle->run = ::tessera::take(pages().acquire(run, {8, a_, kTag}, {bundle.get(), BlockWord::raw(bundle->words())}));
    return begin(cache_.add(std::move(bundle), block));
  }
  Address take(Bytes block, TagId tag = kTag) {
    const Address address = cache_.take(key(tag), block);
    return address ? begin(address) : address;
  }
  Bundle& bundle_of(Address address) { return *static_cast<Bundle*>(pages().find(address)->owner.record); }
  BlockWord& word_of(Address address) {
    Bundle& bundle = bundle_of(address);
    return bundle.word(*bundle.place_at(address - bundle.run->address));
  }
  Address begin(Address address) {
    word_of(address).begin(Bytes());
    return address;
  }
  void give(Address address) {
    word_of(address).end();
    cache_.give(bundle_of(address), address);
  }
  Late after_b(Run& run) {
    return {std::uint64_t{1} << residency().streams().slot_of(b_), residency().note_free(&run, b_)};
  }
  void give_late(Address address) {
    word_of(address).end();
    cache_.give_late(bundle_of(address), address, after_b(*bundle_of(address).run));
  }
  void give_back(std::vector<std::unique_ptr<Bundle>> bundles) {
    for (const auto& bundle : bundles) expect_ok(pages().release(bundle->run));
  }
  void expect_sound() { expect_ok(cache_.validate()); }

  const StreamId a_, b_;
  BundleCache cache_{residency().streams(), Bundle::kMostBurstBytes};
};

TEST_F(BundleCacheTest, ABlockIsPlacedAfterThePreviousOne) {
  EXPECT_FALSE(take(2_MiB));
  const Address first = add(10_MiB, 3_MiB - 1_B);
  EXPECT_EQ(take(5_MiB), first + 3_MiB);
  EXPECT_FALSE(take(2_MiB + 1_B));
  EXPECT_EQ(take(2_MiB), first + 8_MiB);
  EXPECT_FALSE(take(1_MiB + 1_B));
  expect_sound();
}

TEST_F(BundleCacheTest, PlacesABlockWhereItLeavesTheLeast) {
  add(18_MiB, 4_MiB);
  const Address tail = add(6_MiB, 3_MiB);
  EXPECT_EQ(take(3_MiB), tail + 3_MiB);
  expect_sound();
}

TEST_F(BundleCacheTest, AFreePlaceServesWhatIsAboutAsLarge) {
  const Address first = add(18_MiB, 4_MiB);
  const Address second = take(4_MiB + 512_KiB);
  const Address third = take(2_MiB);
  give(first);
  give(second);
  EXPECT_EQ(take(3_MiB), third + 2_MiB) << "a third would be left";
  EXPECT_EQ(take(4_MiB), first);
  EXPECT_EQ(take(4_MiB + 300_KiB), second);
  expect_sound();
}

TEST_F(BundleCacheTest, AnotherDomainHasOtherBundles) {
  add(18_MiB, 4_MiB);
  EXPECT_FALSE(take(2_MiB, TagId(9)));
}

TEST_F(BundleCacheTest, CountsBlocksInUseAsLive) {
  const Address first = add(18_MiB, 4_MiB);
  Run& run = *bundle_of(first).run;
  run.fresh.store(false);
  const Address second = take(4_MiB);
  EXPECT_EQ(run.live.load(), 2u);
  EXPECT_FALSE(run.fresh.load());
  give(first);
  give_late(second);
  EXPECT_EQ(run.live.load(), 0u);
  EXPECT_TRUE(run.is_dead());
  take(4_MiB);
  EXPECT_TRUE(run.fresh.load());
}

TEST_F(BundleCacheTest, APlaceFreedOnAnotherStreamIsQueued) {
  const Address first = add(4_MiB, 3_MiB);
  auto held = hold(b_);
  give_late(first);
  expect_sound();
  EXPECT_TRUE(cache_.has_late(key()));
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.settle(key()));
  EXPECT_FALSE(take(3_MiB));
  held.reset();
  expect_ok(residency().waits().wait(cache_.latest().mask, cache_.latest().epoch));
  cache_.settle_all();
  EXPECT_FALSE(cache_.has_late(key()));
  EXPECT_EQ(take(3_MiB), first);
}

TEST_F(BundleCacheTest, PlacesOfADestroyedStreamAreQueued) {
  const Address first = add(4_MiB, 3_MiB);
  give(first);
  EXPECT_EQ(cache_.empty_bytes(), 4_MiB);
  auto held = hold(b_);
  cache_.retire(a_, after_b(*bundle_of(first).run));
  expect_sound();
  EXPECT_EQ(cache_.empty_bytes(), Bytes());
  EXPECT_FALSE(take(3_MiB));
  held.reset();
  expect_ok(driver().synchronize(b_));
  expect_ok(residency().poll_streams());
  cache_.settle_all();
  EXPECT_EQ(take(3_MiB), first);
}

TEST_F(BundleCacheTest, OnlyEmptyBundlesAreRemovedAndMayBePutBack) {
  const Address first = add(4_MiB, 3_MiB), other = add(8_MiB, 5_MiB);
  give(other);
  auto gone = cache_.remove_empty(kEverything, true);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0]->run, pages().find(other));
  EXPECT_EQ(cache_.bundles(), 1u);
  EXPECT_FALSE(take(5_MiB));
  cache_.add(std::move(gone[0]));
  expect_sound();
  EXPECT_EQ(cache_.empty_bytes(), 8_MiB);
  EXPECT_EQ(take(5_MiB), other);
  EXPECT_EQ(take(3_MiB), other + 5_MiB);
  EXPECT_NE(bundle_of(first).run, nullptr);
}

TEST_F(BundleCacheTest, AnEmptyBundleInUseByAStreamIsRemovedOnlyWithWaiting) {
  const Address first = add(4_MiB, 3_MiB);
  give(first);
  auto held = hold(b_);
  residency().note_free(bundle_of(first).run, b_);
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.remove_empty(kEverything, true).empty());
  auto gone = cache_.remove_empty(kEverything, false);
  EXPECT_EQ(gone.size(), 1u);
  held.reset();
  give_back(std::move(gone));
}

TEST_F(BundleCacheTest, BundlesGrowWithTheirDomain) {
  EXPECT_EQ(cache_.bytes_for(key(), 2304_KiB), 4_MiB);
  add(4_MiB, 2304_KiB);
  EXPECT_EQ(cache_.bytes_for(key(), 2304_KiB), 8_MiB);
  add(8_MiB, 2304_KiB);
  EXPECT_EQ(cache_.bytes_for(key(), 2304_KiB), 18_MiB);
  EXPECT_EQ(cache_.bytes_for(key(TagId(9)), 2304_KiB), 4_MiB) << "another domain begins anew";
}

TEST_F(BundleCacheTest, NoBundleForSeveralIsLargerThanTheLimit) {
  BundleCache small(residency().streams(), 7_MiB);
  auto bundle = std::make_unique<Bundle>(14_MiB, a_, kTag);
  bundle->run = ::tessera::take(pages().acquire(14_MiB, {8, a_, kTag}, {bundle.get(), {}}));
  small.add(std::move(bundle), 13_MiB);
  EXPECT_EQ(small.bytes_for(key(), 3_MiB), 6_MiB);
  EXPECT_EQ(small.bytes_for(key(), 9_MiB), 10_MiB);
  give_back(small.remove_all());
}

TEST_F(BundleCacheTest, ALostPlaceIsInvalid) {
  const Address first = add(4_MiB, 3_MiB);
  expect_sound();
  word_of(first).end();
  EXPECT_EQ(cache_.validate().code(), Code::kInternal);
  word_of(first).begin(Bytes());
}

}  // namespace
}  // namespace tessera
