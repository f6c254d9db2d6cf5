#include "base/thread_number.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(ThreadNumber, IsTheThreadsOwnAndStays) {
  const std::uint32_t mine = thread_number();
  std::uint32_t other = mine;
  std::thread([&] { other = thread_number(); }).join();
  EXPECT_NE(other, mine);
  EXPECT_EQ(thread_number(), mine);
}

TEST(ThreadNumber, ManyThreadsOneAfterTheOtherNeedFewNumbers) {
  thread_number();
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 200; ++i) std::thread([&] { numbers.insert(thread_number()); }).join();
  EXPECT_EQ(numbers.size(), 1u);
}

TEST(ThreadNumber, ThreadsAtOnceHoldDifferentOnesUntilNoneIsLeft) {
  constexpr std::uint32_t kThreads = 80;
  std::latch all(kThreads);
  std::mutex mutex;
  std::multiset<std::uint32_t> numbers;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const std::uint32_t mine = thread_number();
      {
        const std::scoped_lock lock(mutex);
        numbers.insert(mine);
      }
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t number = 0; number < kOwnThreadNumbers; ++number) {
    EXPECT_LE(numbers.count(number), 1u);
  }
  EXPECT_EQ(*numbers.rbegin(), kOwnThreadNumbers);
  EXPECT_GE(numbers.count(kOwnThreadNumbers), kThreads - kOwnThreadNumbers);
}

}  // namespace
}  // namespace tessera
