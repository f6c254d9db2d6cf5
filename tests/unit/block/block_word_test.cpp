#include "block/block_word.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(BlockWord, StartsFreeAndCountsItsLives) {
  BlockWord word;
  EXPECT_FALSE(word.read().live);
  for (std::uint64_t life = 1; life <= 5; ++life) {
    word.begin(Bytes(life * 100));
    EXPECT_TRUE(word.read().live);
    EXPECT_EQ(word.read().generation, life);
    EXPECT_EQ(word.end()->slack, Bytes(life * 100));
    EXPECT_FALSE(word.read().live);
  }
}

TEST(BlockWord, EndsOnce) {
  BlockWord word;
  EXPECT_FALSE(word.end());
  word.begin(Bytes());
  EXPECT_TRUE(word.end());
  EXPECT_FALSE(word.end());
}

TEST(BlockWord, KeepsTheLargestSlackApartFromTheGeneration) {
  BlockWord word;
  word.begin(BlockWord::kSlackLimit - Bytes(1));
  EXPECT_EQ(word.read().slack, BlockWord::kSlackLimit - Bytes(1));
  EXPECT_EQ(word.read().generation, 1u);
}

TEST(BlockWord, ExactlyOneOfManyThreadsEndsIt) {
  constexpr int kRounds = 500;
  BlockWord word;
  std::atomic<int> round{0};
  std::atomic<int> ended{0};
  std::atomic<int> tried{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int mine = 1; mine <= kRounds; ++mine) {
        while (round.load() < mine) std::this_thread::yield();
        if (word.end()) ended.fetch_add(1);
        tried.fetch_add(1);
      }
    });
  }
  for (int next = 1; next <= kRounds; ++next) {
    word.begin(Bytes());
    round.store(next);
    while (tried.load() < 2 * next) std::this_thread::yield();
    EXPECT_EQ(ended.load(), next);
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
