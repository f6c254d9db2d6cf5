#include "pool_blocks.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tessera::preload {
namespace {

constexpr CUdeviceptr kFirstOfPool = 0x6e5500000000;
constexpr int kManyOfPool = 100000;  // far more than there are slots

CUdeviceptr pool_block(int i) { return kFirstOfPool + static_cast<CUdeviceptr>(i) * 512; }

TEST(PoolBlocks, EachIsKnownUntilItIsRemovedHoweverManyThereAre) {
  const auto blocks = std::make_unique<PoolBlocks>();
  for (int i = 0; i < kManyOfPool; ++i) blocks->add(pool_block(i));
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_TRUE(blocks->holds(pool_block(i))) << i;
  EXPECT_FALSE(blocks->holds(pool_block(kManyOfPool)));
  for (int i = 0; i < kManyOfPool; i += 2) blocks->remove(pool_block(i));
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_EQ(blocks->holds(pool_block(i)), i % 2 == 1) << i;
  blocks->add(pool_block(1));
  blocks->remove(pool_block(1));
  EXPECT_FALSE(blocks->holds(pool_block(1))) << "added twice";
}

TEST(PoolBlocks, NoneIsLeftAfterClearing) {
  const auto blocks = std::make_unique<PoolBlocks>();
  for (int i = 0; i < kManyOfPool; ++i) blocks->add(pool_block(i));
  blocks->clear();
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_FALSE(blocks->holds(pool_block(i))) << i;
}

}  // namespace
}  // namespace tessera::preload
