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
  constexpr std::uint32_t kOwn = kThreadSlots - 1;
  for (std::uint32_t number = 1; number < kThreadSlots; ++number) EXPECT_LE(numbers.count(number), 1u);
  EXPECT_LT(*numbers.rbegin(), kThreadSlots);
  EXPECT_GE(numbers.count(kSharedThreadNumber), kThreads - kOwn);
  EXPECT_EQ(thread_slots_used(), kThreadSlots);
}

// In a process of its own: how many the other tests have used is not known.
TEST(ThreadNumberDeathTest, AsManySlotsAreUsedAsThereWereThreadsAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::uint32_t none = thread_slots_used();
        (void)thread_number();
        const std::uint32_t one = thread_slots_used();
        for (int i = 0; i < 3; ++i) std::thread([] { (void)thread_number(); }).join();
        const std::uint32_t two = thread_slots_used();
        _exit(none == 1 && one == 2 && two == 3 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
