#include "block/thread_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tessera {
namespace {

CacheKey key_of(Bytes bytes, std::uint64_t stream = 0, std::uint64_t tag = 0) {
  return {*size_class_for(bytes), StreamId(stream), TagId(tag)};
}

// Makes room if push() refuses; the evicted addresses are added to `out`.
void put(ThreadCache& cache, const CacheKey& key, Address address, std::vector<Address>& out) {
  if (cache.push(key, address)) return;
  cache.make_place(key, [&](Address old) { out.push_back(old); });
  ASSERT_TRUE(cache.push(key, address));
}

TEST(ThreadCache, ReturnsTheNewestBlockOfTheKey) {
  ThreadCache cache;
  std::vector<Address> out;
  put(cache, key_of(512_B), Address(1), out);
  put(cache, key_of(512_B), Address(2), out);
  EXPECT_EQ(cache.pop(key_of(512_B)), Address(2));
  EXPECT_EQ(cache.pop(key_of(512_B)), Address(1));
  EXPECT_FALSE(cache.pop(key_of(512_B)));
}

TEST(ThreadCache, AnotherClassStreamOrTagIsAnotherKey) {
  ThreadCache cache;
  std::vector<Address> out;
  put(cache, key_of(512_B, 16, 1), Address(1), out);
  EXPECT_FALSE(cache.pop(key_of(4_KiB, 16, 1)));
  EXPECT_FALSE(cache.pop(key_of(512_B, 32, 1)));
  EXPECT_FALSE(cache.pop(key_of(512_B, 16, 2)));
  EXPECT_EQ(cache.pop(key_of(512_B, 16, 1)), Address(1));
}

TEST(ThreadCache, AFullMagazineHandsBlocksOnAndKeepsTheOthers) {
  ThreadCache cache;
  std::vector<Address> out;
  for (std::uint64_t i = 1; i <= 20; ++i) put(cache, key_of(512_B), Address(i), out);
  std::multiset<Address> all(out.begin(), out.end());
  EXPECT_FALSE(all.empty());
  while (const Address address = cache.pop(key_of(512_B))) all.insert(address);
  EXPECT_EQ(all.size(), 20u);
  EXPECT_EQ(std::set<Address>(all.begin(), all.end()).size(), 20u);
}

TEST(ThreadCache, LargeBlocksAreFewAndAtLeastOne) {
  EXPECT_EQ(ThreadCache::limit_of(*size_class_for(2_MiB)), 8u);
  EXPECT_EQ(ThreadCache::limit_of(*size_class_for(16_MiB)), 2u);
  EXPECT_EQ(ThreadCache::limit_of(*size_class_for(1_GiB)), 1u);
}

TEST(ThreadCache, KeysThatShareAPlaceLoseNoBlock) {
  ThreadCache cache;
  std::vector<Address> out;
  constexpr std::uint64_t kKeys = 1000;  // many more than there are places
  for (std::uint64_t i = 1; i <= kKeys; ++i) put(cache, key_of(512_B, i * 64), Address(i), out);
  std::set<Address> all(out.begin(), out.end());
  cache.steal([&](Address address) { all.insert(address); });
  EXPECT_EQ(all.size(), kKeys);
}

TEST(ThreadCache, AfterAStealItIsEmptyAndUsable) {
  ThreadCache cache;
  std::vector<Address> out;
  for (std::uint64_t i = 1; i <= 8; ++i) put(cache, key_of(512_B), Address(i), out);
  std::size_t stolen = 0;
  cache.steal([&](Address) { ++stolen; });
  EXPECT_EQ(stolen, 8u);
  EXPECT_FALSE(cache.pop(key_of(512_B)));
  put(cache, key_of(512_B), Address(9), out);
  EXPECT_EQ(cache.pop(key_of(512_B)), Address(9));
}

// Each block counts its owners: there are never two.
TEST(ThreadCache, AStealAndATakeNeverGetTheSameBlock) {
  constexpr std::size_t kBlocks = 8;
  auto cache = std::make_unique<ThreadCache>();
  std::array<std::atomic<int>, kBlocks + 1> holders{};
  const CacheKey key = key_of(512_B);
  const auto hold = [&](Address block) {
    EXPECT_EQ(holders[block.value()].fetch_add(1), 0);
    holders[block.value()].fetch_sub(1);
  };
  std::vector<Address> out;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) put(*cache, key, Address(i), out);

  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::vector<Address> returned;  // from the stealer to the owner
  std::thread stealer([&] {
    while (!stop.load()) {
      cache->steal([&](Address block) {
        hold(block);
        const std::lock_guard lock(mutex);
        returned.push_back(block);
      });
      std::this_thread::yield();
    }
  });
  for (int step = 0; step < 2000; ++step) {
    std::vector<Address> mine;
    if (const Address block = cache->pop(key)) {
      hold(block);
      mine.push_back(block);
    }
    {
      const std::lock_guard lock(mutex);
      mine.insert(mine.end(), returned.begin(), returned.end());
      returned.clear();
    }
    while (!mine.empty()) {
      const Address block = mine.back();
      mine.pop_back();
      put(*cache, key, block, mine);
    }
  }
  stop.store(true);
  stealer.join();
  std::size_t left = returned.size();
  cache->steal([&](Address) { ++left; });
  EXPECT_EQ(left, kBlocks);
}

}  // namespace
}  // namespace tessera
