#include "residency/streams/thread_key.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

TEST(ThreadKeyTest, AThreadKeepsItsKeyAndNoOtherHasIt) {
  const std::uint64_t own = this_thread_key();
  EXPECT_NE(own, 0U);
  EXPECT_EQ(this_thread_key(), own);
  std::thread([own] { EXPECT_NE(this_thread_key(), own); }).join();
}

TEST(ThreadKeyTest, AKeyTellsWhetherItsThreadHasEnded) {
  std::uint64_t other = 0;
  std::thread([&other] {
    other = this_thread_key();
    EXPECT_FALSE(thread_has_ended(other));
  }).join();
  EXPECT_TRUE(thread_has_ended(other));
  EXPECT_FALSE(thread_has_ended(this_thread_key()));
  EXPECT_FALSE(thread_has_ended(0)) << "no thread";
}

}  // namespace
}  // namespace tessera
