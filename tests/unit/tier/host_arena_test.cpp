#include "tier/host_arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/page_class.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class HostArenaTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  static void* allocate(HostArena& arena, Bytes bytes) {
    return arena.allocate_small(bytes, kAlignment,
                                [&arena](Bytes wanted, std::uint64_t seen) { return arena.grow(wanted, seen); });
  }
  static void free(HostArena& arena, void* pointer, Bytes bytes) { arena.free_small(pointer, bytes, kAlignment); }

  static constexpr Bytes kAlignment = 4_KiB;
  SimMachine machine_;
};

TEST_F(HostArenaTest, SixtyFourMebibytesHoldThirtyTwoBasePages) {
  HostArena arena(machine_.driver(), 64_MiB);
  std::set<void*> pages;
  while (void* const page = allocate(arena, kBasePage)) {
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(page) % 4096, 0u);
    EXPECT_TRUE(pages.insert(page).second);
  }
  EXPECT_EQ(pages.size(), 32u);
  EXPECT_EQ(arena.backed(), 64_MiB);
  for (void* const page : pages) free(arena, page, kBasePage);
}

TEST_F(HostArenaTest, ReturnedPagesJoinIntoLargePages) {
  HostArena arena(machine_.driver(), 64_MiB);
  for (int round = 0; round < 5; ++round) {
    std::vector<void*> base;
    while (void* const page = allocate(arena, kBasePage)) base.push_back(page);
    EXPECT_EQ(base.size(), 32u);
    for (void* const page : base) free(arena, page, kBasePage);
    void* const first = allocate(arena, kLargePage);
    void* const second = allocate(arena, kLargePage);
    ASSERT_TRUE(first != nullptr && second != nullptr);
    EXPECT_EQ(allocate(arena, kBasePage), nullptr);
    free(arena, second, kLargePage);
    free(arena, first, kLargePage);
    EXPECT_TRUE(arena.validate().is_ok()) << arena.validate().to_string();
  }
}

TEST_F(HostArenaTest, ABudgetOfZeroHasNoMemory) {
  HostArena arena(machine_.driver(), Bytes());
  EXPECT_EQ(allocate(arena, kBasePage), nullptr);
  arena.trim();
}

TEST_F(HostArenaTest, NothingIsPinnedBeforeTheFirstAllocation) {
  HostArena arena(machine_.driver(), 16_GiB);
  EXPECT_EQ(arena.backed(), Bytes());
  void* const page = allocate(arena, kBasePage);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(arena.backed(), 64_MiB);
  EXPECT_TRUE(machine_.driver().is_registered(page, kBasePage));
  free(arena, page, kBasePage);
}

TEST_F(HostArenaTest, TrimUnpinsWhatIsFree) {
  HostArena arena(machine_.driver(), 128_MiB);
  void* const page = allocate(arena, kBasePage);
  free(arena, page, kBasePage);
  arena.trim();
  EXPECT_EQ(arena.backed(), Bytes());
  EXPECT_FALSE(machine_.driver().is_registered(page));
}

TEST_F(HostArenaTest, OddSizesShareTheArena) {
  HostArena arena(machine_.driver(), 64_MiB);
  std::mt19937_64 random(3);
  std::vector<std::pair<unsigned char*, Bytes>> blocks;
  for (int step = 0; step < 2000; ++step) {
    if (!blocks.empty() && random() % 2 == 0) {
      const auto [start, bytes] = blocks.back();
      EXPECT_EQ(start[bytes.value() - 1], static_cast<unsigned char>(bytes.value()));
      free(arena, start, bytes);
      blocks.pop_back();
      continue;
    }
    const Bytes bytes(1 + random() % (3_MiB).value());
    auto* const start = static_cast<unsigned char*>(allocate(arena, bytes));
    if (start == nullptr) continue;
    start[bytes.value() - 1] = static_cast<unsigned char>(bytes.value());
    blocks.emplace_back(start, bytes);
  }
  for (const auto& [start, bytes] : blocks) free(arena, start, bytes);
  EXPECT_LE(arena.backed(), 64_MiB);
  EXPECT_TRUE(arena.validate().is_ok()) << arena.validate().to_string();
}

TEST_F(HostArenaTest, SeveralThreadsShareTheArenaToTheLastPage) {
  HostArena arena(machine_.driver(), 64_MiB, 8_MiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&arena] {
      for (int round = 0; round < 100; ++round) {
        std::vector<void*> pages;
        // Four threads with eight pages each use the whole budget, so every allocation has to succeed.
        for (int i = 0; i < 8; ++i) pages.push_back(allocate(arena, kBasePage));
        for (void* const page : pages) {
          ASSERT_NE(page, nullptr);
          std::memset(page, 1, 64);
          free(arena, page, kBasePage);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(arena.validate().is_ok());
}

TEST_F(HostArenaTest, ArenasAreCreatedAndDestroyedRepeatedly) {
  for (int round = 0; round < 20; ++round) {
    HostArena arena(machine_.driver(), 4_MiB);
    void* const page = allocate(arena, kBasePage);
    ASSERT_NE(page, nullptr);
    free(arena, page, kBasePage);
  }
}

}  // namespace
}  // namespace tessera
