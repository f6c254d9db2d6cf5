#include "tier/pinned_blocks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class PinnedBlocksTest : public testing::Test {
 protected:
  ~PinnedBlocksTest() override { machine_.finish(); }

  static void* must(Result<void*> made) {
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.is_ok() ? made.value() : nullptr;
  }
  static void expect_sound(const PinnedBlocks& blocks, const HostTier& tier) {
    EXPECT_TRUE(blocks.validate().is_ok()) << blocks.validate().to_string();
    EXPECT_TRUE(tier.validate().is_ok()) << tier.validate().to_string();
  }

  SimMachine machine_;
};

TEST_F(PinnedBlocksTest, ABlockIsWritableAndPinnedAndHasItsSize) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  for (const Bytes bytes : {1_B, 512_B, 4_KiB, 5000_B, 16_KiB, 1_MiB + 1_B, 33_MiB}) {
    void* const block = must(blocks.allocate(bytes, 7));
    std::memset(block, 1, bytes.value());
    EXPECT_TRUE(machine_.driver().is_registered(block, bytes)) << bytes.value();
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(block) % (bytes < 4_KiB ? 512 : 4096), 0U);
    const auto found = blocks.find(static_cast<std::byte*>(block) + bytes.value() - 1);
    ASSERT_TRUE(found) << bytes.value();
    EXPECT_EQ(found->bytes, bytes);
    EXPECT_EQ(found->mark, 7U);
    EXPECT_FALSE(blocks.find(static_cast<std::byte*>(block) + bytes.value()) &&
                 blocks.find(static_cast<std::byte*>(block) + bytes.value())->start == found->start);
    expect_sound(blocks, tier);
  }
}

TEST_F(PinnedBlocksTest, ALargeBlockTakesNoMoreThanItNeeds) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  must(blocks.allocate(33_MiB + 1_B, 0));
  must(blocks.allocate(1_MiB - 4_KiB, 0));
  EXPECT_EQ(blocks.usage().backed, 34_MiB) << "in whole pages; not 40 MiB, as a size class would";
}

TEST_F(PinnedBlocksTest, AFreedBlockServesTheNextRequestOfItsSize) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  void* const first = must(blocks.allocate(1_MiB, 0));
  const std::uint64_t id = blocks.find(first)->id;
  EXPECT_TRUE(blocks.free(first).is_ok());
  EXPECT_FALSE(blocks.find(first));
  EXPECT_EQ(blocks.free(first).code(), Code::kNotFound);
  void* const second = must(blocks.allocate(1_MiB - 1_B, 0));
  EXPECT_EQ(second, first);
  EXPECT_NE(blocks.find(second)->id, id);
  EXPECT_EQ(blocks.find(second)->bytes, 1_MiB - 1_B);
  EXPECT_EQ(blocks.usage().allocations, 2U);
  expect_sound(blocks, tier);
}

TEST_F(PinnedBlocksTest, OnlyTheStartOfALiveBlockIsFreed) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  void* const block = must(blocks.allocate(1_MiB, 0));
  int other = 0;
  EXPECT_EQ(blocks.free(static_cast<std::byte*>(block) + 4096).code(), Code::kNotFound);
  EXPECT_EQ(blocks.free(&other).code(), Code::kNotFound);
  EXPECT_TRUE(blocks.find(block));
}

TEST_F(PinnedBlocksTest, TheBudgetIsOneForPagesAndBlocks) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  void* const block = must(blocks.allocate(64_MiB, 0));
  EXPECT_EQ(tier.usage().capacity, 192_MiB);
  EXPECT_EQ(tier.usage_with_staging().used, 64_MiB);
  EXPECT_EQ(blocks.allocate(65_MiB, 0).status().code(), Code::kOutOfMemory) << "beyond the limit";
  std::vector<Frame> frames;
  for (int i = 0; i < 6; ++i) frames.push_back(tier.take(PageClass::kLarge).take());
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  EXPECT_TRUE(blocks.free(block).is_ok());
  blocks.trim();
  EXPECT_EQ(tier.usage().capacity, 256_MiB);
  frames.push_back(tier.take(PageClass::kLarge).take());
  expect_sound(blocks, tier);
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(PinnedBlocksTest, PagesThatSoonNeedTheBudgetKeepIt) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 4; ++i) frames.push_back(tier.take(PageClass::kLarge).take());
  EXPECT_EQ(blocks.allocate(98_MiB, 0).status().code(), Code::kOutOfMemory) << "would leave 30 MiB to pages";
  must(blocks.allocate(96_MiB, 0));
  for (const Frame& frame : frames) tier.give_back(frame);
}

TEST_F(PinnedBlocksTest, SpareMemoryOfPagesIsReturnedForBlocks) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 64_MiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 4; ++i) frames.push_back(tier.take(PageClass::kLarge).take());
  for (const Frame& frame : frames) tier.give_back(frame);
  EXPECT_EQ(tier.usage().spare, 128_MiB);
  must(blocks.allocate(64_MiB, 0));
  EXPECT_LE(tier.usage().spare, 64_MiB);
  expect_sound(blocks, tier);
}

TEST_F(PinnedBlocksTest, WhatIsUnusedIsReclaimedForPages) {
  HostTier tier(machine_.driver(), 128_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 64_MiB);
  tier.on_shortage([&] { blocks.trim(); });
  EXPECT_FALSE(tier.reclaim());
  void* const kept = must(blocks.allocate(16_MiB, 0));
  void* const freed = must(blocks.allocate(32_MiB, 0));
  EXPECT_TRUE(blocks.free(freed).is_ok());
  EXPECT_TRUE(tier.reclaim());
  EXPECT_EQ(tier.usage().capacity, 112_MiB);
  EXPECT_TRUE(blocks.find(kept));
  EXPECT_FALSE(tier.reclaim());
}

TEST_F(PinnedBlocksTest, ManySizesDoNotUseUpTheAddresses) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  for (Bytes bytes = 4_MiB; bytes <= 124_MiB; bytes += 4_MiB) {
    void* const block = must(blocks.allocate(bytes, 0));
    ASSERT_NE(block, nullptr) << bytes.value();
    EXPECT_TRUE(blocks.free(block).is_ok());
    blocks.trim();
    EXPECT_EQ(blocks.usage().backed, Bytes());
    expect_sound(blocks, tier);
  }
}

// A block that kernels cannot access would be worse than none.
TEST_F(PinnedBlocksTest, WhatTheDriverDoesNotPinIsNotUsed) {
  FaultDriver faults(machine_.driver());
  HostTier tier(faults, 256_MiB, Bytes());
  PinnedBlocks blocks(faults, tier, 128_MiB);
  faults.fail({DriverCall::kRegisterHost, 1, Status(Code::kOutOfMemory, "no more host memory can be pinned"), true});
  EXPECT_EQ(blocks.allocate(1_MiB, 0).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().capacity, 256_MiB) << "what was lent for it is returned";
  EXPECT_EQ(faults.failed(), 1U) << "nothing is asked again without a reason";
  faults.clear();
  must(blocks.allocate(1_MiB, 0));
  expect_sound(blocks, tier);
}

TEST_F(PinnedBlocksTest, ThreadsGetBlocksOfTheirOwn) {
  HostTier tier(machine_.driver(), 256_MiB, Bytes());
  PinnedBlocks blocks(machine_.driver(), tier, 128_MiB);
  const auto work = [&](std::uint32_t number) {
    for (std::uint32_t round = 0; round < 200; ++round) {
      const Bytes bytes = Bytes(512) * (1 + (round * 37 + number) % 300);
      auto made = blocks.allocate(bytes, number);
      if (!made.is_ok()) continue;
      std::memset(made.value(), static_cast<int>(number), bytes.value());
      std::this_thread::yield();
      const auto* const first = static_cast<const unsigned char*>(made.value());
      EXPECT_EQ(first[0], number);
      EXPECT_EQ(first[bytes.value() - 1], number);
      EXPECT_TRUE(blocks.free(made.value()).is_ok());
      if (round % 50 == 0) blocks.trim();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(blocks.usage().blocks, 0U);
  expect_sound(blocks, tier);
}

}  // namespace
}  // namespace tessera
