#include "sim/sim_pool.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SimPool, TheCapacityIsTheLimitAndTheMessageAddsUp) {
  SimCount pool("the test", 6_MiB);
  ASSERT_TRUE(pool.take(4_MiB).is_ok());
  const auto more = pool.take(4_MiB);
  EXPECT_EQ(more.status().code(), Code::kOutOfMemory);
  EXPECT_EQ(more.status().message(), "a frame of 4194304 bytes on the test: 2097152 of 6291456 bytes are free");
}

TEST(SimPool, ReusesReleasedCapacityWithoutMemory) {
  SimCount pool("the test", 80_GiB);
  const auto whole = pool.take(80_GiB);
  ASSERT_TRUE(whole.is_ok());
  EXPECT_EQ(pool.used(), 80_GiB);
  EXPECT_TRUE(pool.show(whole.value(), 80_GiB, nullptr));
  pool.give(whole.value(), 80_GiB);
  EXPECT_EQ(pool.used(), Bytes());
  EXPECT_TRUE(pool.take(80_GiB).is_ok());
}

}  // namespace
}  // namespace tessera
