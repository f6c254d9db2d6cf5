#include "base/thread_number.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

TEST(ThreadNumber, IsTheThreadsOwnAndStays) {
  const std::uint32_t mine = thread_number();
  std::uint32_t other = mine;
  std::thread([&] { other = thread_number(); }).join();
  EXPECT_NE(other, mine);
  EXPECT_EQ(thread_number(), mine);
}

}  // namespace
}  // namespace tessera
