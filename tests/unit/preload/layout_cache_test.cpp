#include "layout_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tessera::preload {
namespace {

const std::vector<ParameterPlace> kOne = {{0, PartlyFilled::kNo, 8}};
const std::vector<ParameterPlace> kTwo = {{0, PartlyFilled::kNo, 8}, {3, PartlyFilled::kNo, 24}};

CUfunction handle(std::uintptr_t number) { return reinterpret_cast<CUfunction>(number); }

class LayoutCacheTest : public testing::Test {
 protected:
  bool knows(CUfunction function, std::uint32_t generation) {
    found_ = {};
    return cache_->find(function, generation, found_);
  }

  const std::unique_ptr<LayoutCache> cache_ = std::make_unique<LayoutCache>();
  LayoutCache::Found found_;
};

TEST_F(LayoutCacheTest, FindsWhatWasKept) {
  EXPECT_FALSE(knows(handle(0x1000), 1));
  cache_->keep(handle(0x1000), 1, {"first", kOne});
  cache_->keep(handle(0x2000), 1, {nullptr, kTwo});
  ASSERT_TRUE(knows(handle(0x1000), 1));
  EXPECT_STREQ(found_.name, "first");
  EXPECT_EQ(found_.places.data(), kOne.data());
  EXPECT_EQ(found_.places.size(), 1u);
  ASSERT_TRUE(knows(handle(0x2000), 1));
  EXPECT_EQ(found_.places.size(), 2u);
  EXPECT_EQ(found_.name, nullptr);
}

TEST_F(LayoutCacheTest, ALayoutEndsWithItsGeneration) {
  cache_->keep(handle(0x1000), 1, {"old", kOne});
  EXPECT_FALSE(knows(handle(0x1000), 2));
  cache_->keep(handle(0x1000), 2, {"new", kTwo});
  EXPECT_FALSE(knows(handle(0x1000), 1));
  ASSERT_TRUE(knows(handle(0x1000), 2));
  EXPECT_STREQ(found_.name, "new");
}

// Handles as drivers give them: addresses of objects of one size, side by side.
TEST_F(LayoutCacheTest, HoldsTheKernelsOfAProgram) {
  for (const std::uintptr_t size : {64u, 208u, 720u, 4096u}) {
    const auto cache = std::make_unique<LayoutCache>();
    for (std::uintptr_t i = 0; i < 128; ++i) cache->keep(handle(0x555500001000 + i * size), 1, {nullptr, kOne});
    std::size_t known = 0;
    for (std::uintptr_t i = 0; i < 128; ++i) known += cache->find(handle(0x555500001000 + i * size), 1, found_) ? 1 : 0;
    EXPECT_EQ(known, 128u) << size;
  }
}

TEST_F(LayoutCacheTest, WithTooManyTheLatestIsKept) {
  for (std::uintptr_t i = 1; i <= 4 * LayoutCache::kEntries; ++i) {
    cache_->keep(handle(i * 208), 1, {nullptr, kOne});
    EXPECT_TRUE(knows(handle(i * 208), 1));
  }
}

// Each name has its own places: what is found was kept together.
TEST_F(LayoutCacheTest, ThreadsNeverFindHalfOfAnEntry) {
  const char* const names[] = {"one", "two"};
  const std::vector<ParameterPlace>* const places[] = {&kOne, &kTwo};
  std::atomic<bool> ends{false};
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < 2; ++i) {
    writers.emplace_back([&, i] {
      for (std::size_t which = i; !ends; which = 1 - which) {
        cache_->keep(handle(0x1000), 1, {names[which], *places[which]});
      }
    });
  }
  std::size_t seen = 0, wrong = 0;
  for (std::size_t tries = 0; tries < 200'000 || seen == 0; ++tries) {
    if (!knows(handle(0x1000), 1)) continue;
    ++seen;
    const std::size_t which = found_.name == names[0] ? 0 : 1;
    wrong += found_.places.data() != places[which]->data() || found_.places.size() != places[which]->size() ? 1 : 0;
  }
  ends = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(PlaceLists, EachIsKeptOnceAndStaysWhereItIs) {
  PlaceLists lists;
  const auto one = lists.kept(kOne), two = lists.kept(kTwo);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(lists.kept(std::vector(kOne))->data(), one->data());
  EXPECT_NE(one->data(), two->data());
  EXPECT_EQ(lists.kept({})->size(), 0u);
}

TEST(PlaceLists, AreBounded) {
  PlaceLists lists;
  for (std::uint32_t i = 0; i < PlaceLists::kMost; ++i) ASSERT_TRUE(lists.kept({{0, PartlyFilled::kNo, 8 + i}}));
  EXPECT_FALSE(lists.kept({{1, PartlyFilled::kNo, 8}}));
  EXPECT_TRUE(lists.kept({{0, PartlyFilled::kNo, 8}})) << "those that are known stay";
}

}  // namespace
}  // namespace tessera::preload
