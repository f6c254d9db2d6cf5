#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/check.hpp"

namespace tessera {
namespace {

void lock_once(Mutex& mutex) { const MutexLock lock(mutex); }

TEST(Mutex, LocksOfAscendingRankNest) {
  Mutex api(LockRank::kApi);
  Mutex tier(LockRank::kTier);
  for (int i = 0; i < 3; ++i) {
    const MutexLock outer(api);
    const MutexLock inner(tier);
  }
}

TEST(MutexDeathTest, ALockOfALowerRankIsRefusedInCheckedBuilds) {
  if (!kTesseraChecked) GTEST_SKIP() << "assertions are off in this build";
  Mutex api(LockRank::kApi);
  Mutex tier(LockRank::kTier);
  Mutex other_tier(LockRank::kTier);
  const MutexLock inner(tier);
  EXPECT_DEATH(lock_once(api), "check failed");
  EXPECT_DEATH(lock_once(other_tier), "check failed") << "equal ranks could form a cycle";
}

TEST(Mutex, LocksMayBeReleasedInAnyOrder) NO_THREAD_SAFETY_ANALYSIS {
  Mutex api(LockRank::kApi);
  Mutex block(LockRank::kBlock);
  Mutex tier(LockRank::kTier);
  api.lock();
  tier.lock();
  api.unlock();
  tier.unlock();
  // If the release of `api` had been lost, this lock would be refused.
  block.lock();
  block.unlock();
}

TEST(Mutex, OnlyOneThreadIsInside) {
  Mutex mutex(LockRank::kTier);
  int counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const MutexLock lock(mutex);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 4000);
}

TEST(Condition, WakesAThreadThatWaits) {
  Mutex mutex(LockRank::kTier);
  Condition condition;
  bool ready = false;
  std::thread waiter([&] {
    const MutexLock lock(mutex);
    while (!ready) condition.wait(mutex);
  });
  {
    const MutexLock lock(mutex);
    ready = true;
  }
  condition.notify_all();
  waiter.join();
}

TEST(Condition, WaitForReportsATimeout) {
  Mutex mutex(LockRank::kTier);
  Condition condition;
  const MutexLock lock(mutex);
  while (condition.wait_for(mutex, std::chrono::microseconds(1))) {
  }
}

}  // namespace
}  // namespace tessera
