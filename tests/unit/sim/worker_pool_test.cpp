#include "sim/worker_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "no_threads.hpp"

namespace tessera {
namespace {

TEST(WorkerPool, OneWorkerRunsOnTheCallingThread) {
  std::vector<int> played;
  WorkerPool workers(1);
  for (int part = 0; part < 3; ++part) {
    workers.hand([&played, part] { played.push_back(part); });
    EXPECT_EQ(played.back(), part);
  }
}

// Each of two waits for the other.
TEST(WorkerPool, SeveralWorkersRunConcurrently) {
  std::atomic<int> there{0};
  {
    WorkerPool workers(2);
    for (int part = 0; part < 2; ++part) {
      workers.hand([&there] {
        there.fetch_add(1);
        while (there.load() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
  }
  EXPECT_EQ(there.load(), 2);
}

TEST(WorkerPool, DestructionRunsAllQueuedWork) {
  std::atomic<int> played{0};
  {
    WorkerPool workers(4);
    for (int part = 0; part < 100; ++part) workers.hand([&played] { played.fetch_add(1); });
  }
  EXPECT_EQ(played.load(), 100);
}

// Two are running and one is queued: the fourth is accepted when a worker is free.
TEST(WorkerPool, HandingWorkWaitsForAFreeWorker) {
  std::atomic<bool> released{false};
  WorkerPool workers(2);
  const auto wait = [&released] {
    while (!released.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  for (int part = 0; part < 3; ++part) workers.hand(wait);
  std::thread releasing([&released] { released.store(true); });
  workers.hand(wait);
  EXPECT_TRUE(released.load());
  releasing.join();
}

TEST(WorkerPool, WithoutThreadsTheCallerRunsTheWork) {
  const NoThreads none;
  int played = 0;
  WorkerPool workers(4);
  workers.hand([&played] { ++played; });
  EXPECT_EQ(played, 1);
}

}  // namespace
}  // namespace tessera
