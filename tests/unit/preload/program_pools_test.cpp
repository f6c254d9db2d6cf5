#include "program_pools.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

namespace tessera::preload {
namespace {

constexpr CUdeviceptr kFirstPooled = 0x6e7700000000;

CUmemoryPool handle_of(std::uintptr_t number) { return reinterpret_cast<CUmemoryPool>(0x7f0012340000 + number * 64); }

CUmemPoolProps on_device(CUdevice device = 0) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

class ProgramPoolsTest : public testing::Test {
 protected:
  ~ProgramPoolsTest() override { pool_blocks().clear(); }

  ProgramPool* added(std::uintptr_t number) {
    pools_->add(handle_of(number), on_device());
    return pools_->find(handle_of(number));
  }
  void take(ProgramPool& pool, CUdeviceptr address, std::uint64_t bytes) {
    pool.meter.count(bytes, pool.limit);
    pool_blocks().add(address, {pool.number, bytes});
  }

  const std::unique_ptr<ProgramPools> pools_ = std::make_unique<ProgramPools>();
};

TEST_F(ProgramPoolsTest, AsManyAsThereMayBeAreFoundAndTheOthersAreTheDrivers) {
  constexpr std::uintptr_t kServed = ProgramPools::kMost - ProgramPools::kDevices - 1;
  std::set<std::uint32_t> numbers;
  std::uintptr_t refused = 0;
  for (std::uintptr_t i = 0; i < kServed; ++i) {
    const ProgramPool* const pool = added(i);
    if (pool == nullptr) {
      ++refused;
      continue;
    }
    EXPECT_EQ(pool->handle.load(), handle_of(i));
    numbers.insert(pool->number);
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(numbers.size(), kServed);
  EXPECT_EQ(added(kServed), nullptr);
  for (std::uintptr_t i = 0; i < kServed; ++i) ASSERT_NE(pools_->find(handle_of(i)), nullptr) << i;
}

TEST_F(ProgramPoolsTest, NumbersAndTagsServeAgainWhenAPoolAndItsBlocksAreGone) {
  ProgramPool* const first = added(1);
  ProgramPool* const second = added(2);
  EXPECT_EQ(first->tag_name(), "pool 1");
  EXPECT_EQ(second->tag_name(), "pool 2");
  take(*first, kFirstPooled, 4096);
  pools_->remove(*first);
  EXPECT_EQ(pools_->find(handle_of(1)), nullptr);
  EXPECT_EQ(added(3)->tag_name(), "pool 3") << "a block of the first one is live";
  EXPECT_EQ(pools_->by_number(first->number)->handle.load(), handle_of(1)) << "of that block";
  EXPECT_EQ(pools_->forget_block(kFirstPooled), (PoolBlock{first->number, 4096}));
  EXPECT_EQ(added(1)->tag_name(), "pool 1");
  for (std::uintptr_t i = 4; i <= ProgramPools::kNamed; ++i) EXPECT_NE(added(i)->tag_name(), "other pools");
  EXPECT_EQ(added(1000)->tag_name(), "other pools");
}

TEST_F(ProgramPoolsTest, OnlyPoolsOnADeviceAreOurs) {
  CUmemPoolProps properties = on_device();
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  pools_->add(handle_of(1), properties);
  properties = on_device();
  properties.allocType = static_cast<CUmemAllocationType>(2);  // managed
  pools_->add(handle_of(2), properties);
  properties = on_device();
  reinterpret_cast<unsigned char*>(&properties.usage)[sizeof(properties.usage)] = 1;  // for network cards
  pools_->add(handle_of(3), properties);
  for (std::uintptr_t i = 1; i <= 3; ++i) EXPECT_EQ(pools_->find(handle_of(i)), nullptr) << i;
  properties = on_device(5);
  properties.usage = 2;  // for decompression
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.maxSize = 1;
  pools_->add(handle_of(4), properties);
  const ProgramPool* const pool = pools_->find(handle_of(4));
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->device, 5);
  EXPECT_TRUE(pool->exportable && pool->ours.load());
  EXPECT_EQ(pool->limit, PoolMeter::kPage);
}

TEST_F(ProgramPoolsTest, DefaultPoolsHaveNoTagAndStayWhenTheHeapEnds) {
  ProgramPool* const usual = pools_->add_default(handle_of(1), 3);
  ASSERT_NE(usual, nullptr);
  EXPECT_EQ(usual->tag_name(), "");
  EXPECT_EQ(usual->tag.load(), 0u);
  EXPECT_EQ(pools_->add_default(handle_of(1), 3), usual);
  EXPECT_EQ(added(2)->tag_name(), "pool 1");
  take(*usual, kFirstPooled, 512);
  ProgramPool* const own = pools_->find(handle_of(2));
  own->tag.store(9);
  pools_->forget_blocks();
  EXPECT_EQ(usual->meter.used(), 0u);
  EXPECT_EQ(usual->tag.load(), 0u);
  EXPECT_EQ(own->tag.load(), ProgramPool::kNoTag);
  EXPECT_FALSE(pools_->forget_block(kFirstPooled));
  EXPECT_EQ(pools_->add_default(handle_of(7), 3)->handle.load(), handle_of(7)) << "after a reset of the device";
  EXPECT_EQ(pools_->find(handle_of(1)), nullptr);
  EXPECT_EQ(pools_->add_default(handle_of(8), 64), nullptr);
}

TEST_F(ProgramPoolsTest, ABlockThatCannotBeFreedIsCountedAgain) {
  ProgramPool* const pool = added(1);
  take(*pool, kFirstPooled, 1024);
  const auto block = pools_->forget_block(kFirstPooled);
  ASSERT_TRUE(block);
  EXPECT_EQ(pool->meter.used(), 0u);
  pools_->put_back(kFirstPooled, *block);
  EXPECT_EQ(pool->meter.used(), 1024u);
  EXPECT_EQ(pool_blocks().find(kFirstPooled), block);
}

}  // namespace
}  // namespace tessera::preload
