#include "api/host_memory.hpp"

#include <gtest/gtest.h>

#include "sim_machine.hpp"

namespace tessera {
namespace {

class HostMemoryTest : public testing::Test {
 protected:
  ~HostMemoryTest() override { machine_.finish(); }

  SimMachine machine_;
};

TEST_F(HostMemoryTest, HasNoAddressesBeforeTheFirstBlock) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  HostMemory memory(machine_.driver(), tier, 64_MiB);
  EXPECT_EQ(memory.range().second, 0U);
  EXPECT_EQ(memory.free(&tier).code(), Code::kNotFound);
  EXPECT_FALSE(memory.find(&tier));
  memory.trim();
  const auto block = memory.allocate(1_MiB, 3);
  ASSERT_TRUE(block.is_ok()) << block.status().to_string();
  const auto address = reinterpret_cast<std::uint64_t>(block.value());
  EXPECT_GE(address, memory.range().first);
  EXPECT_LT(address, memory.range().second);
  EXPECT_TRUE(memory.validate().is_ok());
}

TEST_F(HostMemoryTest, WithoutALimitTheDriverServes) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  HostMemory memory(machine_.driver(), tier, Bytes());
  EXPECT_EQ(memory.allocate(1_MiB, 0).status().code(), Code::kNotSupported);
}

TEST_F(HostMemoryTest, AfterTheEndOfTheContextItBeginsAnew) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  HostMemory memory(machine_.driver(), tier, 64_MiB);
  void* const block = memory.allocate(1_MiB, 0).value();
  memory.end();
  EXPECT_FALSE(memory.find(block));
  EXPECT_EQ(tier.usage().capacity, 128_MiB);
  EXPECT_TRUE(memory.allocate(1_MiB, 0).is_ok());
}

TEST_F(HostMemoryTest, CountsItsBlocksAndWhatTheDriverServes) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  HostMemory memory(machine_.driver(), tier, 64_MiB);
  void* const first = memory.allocate(1_MiB, 0).value();
  (void)memory.allocate(2_MiB, 0).value();
  EXPECT_TRUE(memory.free(first).is_ok());
  memory.note_beside(TESSERA_BESIDE_HOST, 5_MiB);
  memory.note_beside(TESSERA_BESIDE_REGISTERED, 6_MiB);
  tessera_stats stats{};
  memory.add_to(stats);
  EXPECT_EQ(stats.host_blocks, 1U);
  EXPECT_EQ(stats.host_block_bytes, (2_MiB).value());
  EXPECT_EQ(stats.host_block_peak, (3_MiB).value());
  EXPECT_GE(stats.host_block_pinned, (3_MiB).value());
  EXPECT_EQ(stats.driver_host_bytes, (5_MiB).value());
  EXPECT_EQ(stats.registered_bytes, (6_MiB).value());
}

}  // namespace
}  // namespace tessera
