#include "sim/sim_launch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <tuple>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

using Index = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

int note_block(const sim_block* block, const void* parameters) {
  std::set<Index>* blocks = nullptr;
  std::memcpy(&blocks, parameters, sizeof(blocks));
  blocks->insert({block->index[0], block->index[1], block->index[2]});
  if (block->shared != nullptr) std::memset(block->shared, 1, 100);
  return 0;
}

// Has memory for two blocks.
int run_two_blocks(const sim_block* block, const void* parameters) {
  return block->index[0] < 2 ? note_block(block, parameters) : 1;
}

constexpr sim_parameter kOnePointer[] = {{0, 8}};
constexpr sim_kernel kNoteBlock = {SIM_KERNEL_ABI_VERSION, "note_block", note_block, 1, kOnePointer, 8};

class SimLaunchTest : public ::testing::Test {
 protected:
  Launch launch(const void* kernel, Dim3 grid) {
    std::set<Index>* const blocks = &blocks_;
    std::memcpy(block_, &blocks, sizeof(blocks));
    return {.kernel = kernel, .grid = grid, .block = {32, 1, 1}, .shared_bytes = 0, .parameters = block_};
  }
  static int native(const Launch& launch) { return make_launch(launch).status().native_code(); }

  std::set<Index> blocks_;
  std::byte block_[8];
};

TEST_F(SimLaunchTest, EachBlockOfTheGridRunsOnce) {
  Launch asked = launch(&kNoteBlock, {3, 2, 4});
  asked.shared_bytes = 100;
  const auto work = make_launch(asked);
  ASSERT_TRUE(work.is_ok());
  EXPECT_TRUE(work.value().run(work.value()).is_ok());
  EXPECT_EQ(blocks_.size(), 24U);
  EXPECT_TRUE(blocks_.contains(Index(2, 1, 3)));
}

TEST_F(SimLaunchTest, ABlockThatFindsNoMemoryEndsTheLaunch) {
  sim_kernel starving = kNoteBlock;
  starving.run_block = run_two_blocks;
  const auto work = make_launch(launch(&starving, {4, 1, 1}));
  ASSERT_TRUE(work.is_ok());
  EXPECT_EQ(work.value().run(work.value()).native_code(), native::kLaunchOutOfResources);
  EXPECT_EQ(blocks_.size(), 2U);
}

TEST_F(SimLaunchTest, ParametersAreCopiedAtTheLaunch) {
  const auto work = make_launch(launch(&kNoteBlock, {1, 1, 1}));
  ASSERT_TRUE(work.is_ok());
  std::memset(block_, 0, sizeof(block_));
  EXPECT_TRUE(work.value().run(work.value()).is_ok());
  EXPECT_EQ(blocks_.size(), 1U);
}

TEST_F(SimLaunchTest, RefusesAnInvalidKernel) {
  EXPECT_EQ(native(launch(nullptr, {1, 1, 1})), native::kInvalidHandle);
  sim_kernel old = kNoteBlock;
  old.abi_version = 0;
  EXPECT_EQ(native(launch(&old, {1, 1, 1})), native::kInvalidHandle);
}

TEST_F(SimLaunchTest, ImpossibleShapesAreRefused) {
  EXPECT_EQ(native(launch(&kNoteBlock, {0, 1, 1})), native::kInvalidValue);
  Launch large = launch(&kNoteBlock, {1, 1, 1});
  large.block = {1025, 1, 1};
  EXPECT_EQ(native(large), native::kInvalidValue);
  large.block = {1U << 31, 1U << 31, 4};
  EXPECT_EQ(native(large), native::kInvalidValue);
  Launch greedy = launch(&kNoteBlock, {1, 1, 1});
  greedy.shared_bytes = 1 << 20;
  EXPECT_EQ(native(greedy), native::kInvalidValue);
  Launch short_block = launch(&kNoteBlock, {1, 1, 1});
  short_block.parameters = short_block.parameters.first(4);
  EXPECT_EQ(native(short_block), native::kInvalidValue);
}

TEST_F(SimLaunchTest, AFaultNamesTheKernelTheAddressAndTheBlock) {
  std::byte parameters[16] = {};
  const std::uint64_t nowhere = 0x1000;
  const std::uint32_t count = 64;
  const std::uint32_t rounds = 1;
  std::memcpy(parameters, &nowhere, 8);
  std::memcpy(parameters + 8, &count, 4);
  std::memcpy(parameters + 12, &rounds, 4);
  Launch asked = launch(churn_kernel(), {2, 1, 1});
  asked.parameters = parameters;
  const auto work = make_launch(asked);
  ASSERT_TRUE(work.is_ok());
  const Status status = work.value().run(work.value());
  EXPECT_EQ(status.native_code(), native::kIllegalAddress);
  EXPECT_EQ(status.message(), "kernel churn touched 0x1000, where nothing is mapped, in block (0, 0, 0)");
}

}  // namespace
}  // namespace tessera
