#include "residency/use_counts.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(UseCounts, AddUpOverMoreThreadsThanThereAreSlots) {
  UseCounts counts;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) counts.add(thread_number(), 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.sum().launches, 5000U);
  EXPECT_EQ(counts.sum().uses, 15000U);
}

}  // namespace
}  // namespace tessera
