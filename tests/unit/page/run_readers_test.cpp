#include "page/run_readers.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(RunReaders, WithoutReadersDoesNotWait) {
  RunReaders readers;
  readers.wait_for_all();
  readers.leave(readers.enter());
  readers.wait_for_all();
}

TEST(RunReaders, WaitsUntilTheReaderHasLeft) {
  RunReaders readers;
  std::atomic<bool> left{false};
  std::latch inside(1);
  std::thread reader([&] {
    const auto ticket = readers.enter();
    inside.count_down();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    left.store(true);
    readers.leave(ticket);
  });
  inside.wait();
  readers.wait_for_all();
  EXPECT_TRUE(left.load());
  reader.join();
}

// Readers never pause, and yet the waiting thread gets through; no reader sees afterwards what was removed before its
// wait.
TEST(RunReaders, NoReaderSeesARemovedValueAfterTheWait) {
  RunReaders readers;
  std::atomic<int*> shared{nullptr};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const auto ticket = readers.enter();
        if (int* const seen = shared.load()) {
          EXPECT_EQ(*seen, 42);
        }
        readers.leave(ticket);
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    auto value = std::make_unique<int>(42);
    shared.store(value.get());
    std::this_thread::yield();
    shared.store(nullptr);
    readers.wait_for_all();
    *value = -1;
  }
  stop.store(true);
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
