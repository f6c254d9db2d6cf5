#include "pool_blocks.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tessera::preload {
namespace {

constexpr CUdeviceptr kFirstOfPool = 0x6e5500000000;
constexpr int kManyOfPool = 100000;  // far more than there are slots

CUdeviceptr pool_block(int i) { return kFirstOfPool + static_cast<CUdeviceptr>(i) * 512; }

PoolBlock kind_of(int i) { return {static_cast<std::uint32_t>(i % 1000), static_cast<std::uint64_t>(i) * 100}; }

TEST(PoolBlocks, EachIsKnownUntilItIsRemovedHoweverManyThereAre) {
  const auto blocks = std::make_unique<PoolBlocks>();
  for (int i = 0; i < kManyOfPool; ++i) blocks->add(pool_block(i), kind_of(i));
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_EQ(blocks->find(pool_block(i)), kind_of(i)) << i;
  EXPECT_FALSE(blocks->find(pool_block(kManyOfPool)));
  for (int i = 0; i < kManyOfPool; i += 2) ASSERT_EQ(blocks->remove(pool_block(i)), kind_of(i)) << i;
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_EQ(blocks->find(pool_block(i)).has_value(), i % 2 == 1) << i;
  EXPECT_FALSE(blocks->remove(pool_block(0))) << "removed twice";
  blocks->add(pool_block(1), kind_of(7));
  EXPECT_EQ(blocks->remove(pool_block(1)), kind_of(7)) << "added twice";
  EXPECT_FALSE(blocks->find(pool_block(1)));
}

TEST(PoolBlocks, TheLargestBlockAndTheLastPoolFit) {
  const auto blocks = std::make_unique<PoolBlocks>();
  const PoolBlock largest{0xffff, std::uint64_t{1} << 47};
  blocks->add(pool_block(0), largest);
  EXPECT_EQ(blocks->remove(pool_block(0)), largest);
}

TEST(PoolBlocks, NoneIsLeftAfterClearing) {
  const auto blocks = std::make_unique<PoolBlocks>();
  for (int i = 0; i < kManyOfPool; ++i) blocks->add(pool_block(i), kind_of(i));
  blocks->clear();
  for (int i = 0; i < kManyOfPool; ++i) ASSERT_FALSE(blocks->find(pool_block(i))) << i;
}

}  // namespace
}  // namespace tessera::preload
