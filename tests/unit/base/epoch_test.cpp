#include "base/epoch.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

TEST(EpochTest, NeverIsBeforeAllOthersAndForeverAfter) {
  EXPECT_TRUE(Epoch().is_never());
  EXPECT_FALSE(Epoch(1).is_never());
  EXPECT_LT(Epoch(), Epoch(1));
  EXPECT_LT(Epoch(1), Epoch::forever());
  EXPECT_EQ(std::max(Epoch(3), Epoch()), Epoch(3));
}

TEST(EpochTest, CountsTicks) {
  Epoch epoch(7);
  EXPECT_EQ(epoch.next(), Epoch(8));
  EXPECT_EQ(epoch.previous(), Epoch(6));
  EXPECT_EQ(epoch + 3, Epoch(10));
  EXPECT_EQ(epoch - Epoch(4), 3U);
  EXPECT_EQ(++epoch, Epoch(8));
  EXPECT_EQ(epoch += 2, Epoch(10));
}

TEST(EpochTest, AnAtomicOneRises) {
  std::atomic<Epoch> newest{Epoch(5)};
  EXPECT_EQ(raise_to(newest, Epoch(3)), Epoch(5));
  EXPECT_EQ(newest.load(), Epoch(5));
  EXPECT_EQ(raise_to(newest, Epoch(9)), Epoch(5));
  EXPECT_EQ(newest.load(), Epoch(9));
}

}  // namespace
}  // namespace tessera
