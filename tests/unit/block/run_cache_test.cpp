#include "block/run_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class RunCacheTest : public LayerTest {
 protected:
  RunCacheTest() : a_(new_stream()), b_(new_stream()) {}

  void TearDown() override {
    give_back(cache_.remove_all());
    LayerTest::TearDown();
  }
  static CacheKey key(Bytes bytes, StreamId stream, TagId tag = TagId(1)) {
    return {*size_class_for(bytes), stream, tag};
  }
  SingleBlock& add(Bytes bytes, TagId tag = TagId(1)) {
    auto block = std::make_unique<SingleBlock>(*size_class_for(bytes), tag);
    block->run = take(pages().acquire(bytes, {9, a_, tag}, {block.get(), {}}));
    return *cache_.add(std::move(block));
  }
  // Caches it as freed on `stream`, after the work queued there so far.
  void put(SingleBlock& block, StreamId stream) {
    residency().note_free(block.run, stream);
    block.freed_on = stream;
    cache_.put(block);
  }
  void give_back(std::vector<std::unique_ptr<SingleBlock>> blocks) {
    for (const auto& block : blocks) expect_ok(pages().release(block->run));
  }
  void expect_sound() { expect_ok(cache_.validate({})); }

  const StreamId a_, b_;
  RunCache cache_{residency().streams()};
};

TEST_F(RunCacheTest, ServesTheStreamItWasFreedOnNewestFirst) {
  SingleBlock& first = add(2_MiB);
  SingleBlock& second = add(2_MiB);
  put(first, a_);
  put(second, a_);
  expect_sound();
  EXPECT_EQ(cache_.cached_bytes(), 4_MiB);
  EXPECT_EQ(cache_.take(key(2_MiB, b_)), nullptr);
  EXPECT_EQ(cache_.take(key(2_MiB, a_)), &second);
  EXPECT_EQ(cache_.take(key(2_MiB, a_)), &first);
  EXPECT_EQ(cache_.cached_bytes(), Bytes());
  put(first, a_);
  put(second, a_);
}

TEST_F(RunCacheTest, ServesBlocksFreedOnNoStreamToEveryStream) {
  SingleBlock& block = add(2_MiB);
  put(block, kNoStream);
  EXPECT_EQ(cache_.take(key(2_MiB, b_)), &block);
  put(block, kNoStream);
}

TEST_F(RunCacheTest, MixesNeitherClassesNorTags) {
  put(add(4_MiB, TagId(1)), kNoStream);
  EXPECT_EQ(cache_.take(key(2_MiB, a_)), nullptr);
  EXPECT_EQ(cache_.take(key(6_MiB, a_)), nullptr);
  EXPECT_EQ(cache_.take(key(4_MiB, a_, TagId(2))), nullptr);
  EXPECT_FALSE(cache_.has_other(key(4_MiB, a_, TagId(2))));
}

TEST_F(RunCacheTest, ServesAnotherStreamOnceTheWorkIsOver) {
  SingleBlock& block = add(2_MiB);
  auto held = hold(a_);
  put(block, a_);
  EXPECT_TRUE(cache_.has_other(key(2_MiB, b_)));
  expect_ok(residency().poll_streams());
  EXPECT_EQ(cache_.take_quiet(key(2_MiB, b_)), nullptr);
  held.reset();
  expect_ok(driver().synchronize(a_));
  expect_ok(residency().poll_streams());
  EXPECT_EQ(cache_.take_quiet(key(2_MiB, b_)), &block);
  EXPECT_FALSE(cache_.has_other(key(2_MiB, b_)));
  put(block, a_);
}

TEST_F(RunCacheTest, BlocksOfARetiredStreamAreReusedOnlyAfterItsWork) {
  SingleBlock& block = add(2_MiB);
  put(block, a_);
  cache_.retire(a_);
  expect_sound();
  EXPECT_EQ(cache_.take(key(2_MiB, a_)), nullptr);
  expect_ok(driver().synchronize(a_));
  expect_ok(residency().poll_streams());
  EXPECT_EQ(cache_.take_quiet(key(2_MiB, a_)), &block);
  put(block, a_);
}

TEST_F(RunCacheTest, ReleasesTheOldestFirstAndNoMoreThanAsked) {
  SingleBlock& first = add(2_MiB);
  SingleBlock& second = add(4_MiB);
  SingleBlock& third = add(2_MiB);
  for (SingleBlock* const block : {&first, &second, &third}) put(*block, kNoStream);
  auto gone = cache_.remove_cached(3_MiB, true);
  ASSERT_EQ(gone.size(), 2u);
  EXPECT_EQ(gone[0].get(), &first);
  EXPECT_EQ(gone[1].get(), &second);
  EXPECT_EQ(cache_.cached_bytes(), 2_MiB);
  expect_sound();
  give_back(std::move(gone));
}

TEST_F(RunCacheTest, KeepsBlocksInUseUnlessWaiting) {
  SingleBlock& block = add(2_MiB);
  auto held = hold(a_);
  put(block, a_);
  expect_ok(residency().poll_streams());
  EXPECT_TRUE(cache_.remove_cached(kEverything, true).empty());
  auto gone = cache_.remove_cached(kEverything, false);
  EXPECT_EQ(gone.size(), 1u);
  held.reset();
  give_back(std::move(gone));
}

TEST_F(RunCacheTest, ABlockInTwoPlacesIsInvalid) {
  SingleBlock& block = add(2_MiB);
  EXPECT_EQ(cache_.validate({}).code(), Code::kInternal);  // neither live nor cached
  put(block, a_);
  expect_sound();
  EXPECT_EQ(cache_.validate({&block}).code(), Code::kInternal);
}

}  // namespace
}  // namespace tessera
