#include "tessera/host.h"

#include <gtest/gtest.h>

#include <cstring>

#include "allocator_machine.hpp"
#include "api/handles.hpp"
#include "tessera/interpose.h"

namespace tessera {
namespace {

class HostApiTest : public AllocatorMachine {
 protected:
  void SetUp() override {
    start(small(64_MiB, 256_MiB));
    handle_.allocator = std::move(allocator_);
  }
  void TearDown() override {
    allocator_ = std::move(handle_.allocator);
    AllocatorMachine::TearDown();
  }

  tessera_allocator handle_;
};

TEST_F(HostApiTest, ABlockLivesFromMallocToFree) {
  void* memory = nullptr;
  ASSERT_EQ(tessera_host_malloc(&handle_, 1 << 20, &memory), TESSERA_OK) << tessera_last_error();
  std::memset(memory, 1, 1 << 20);
  tessera_host_info info{};
  info.size = sizeof(info);
  ASSERT_EQ(tessera_host_query(&handle_, static_cast<char*>(memory) + 5, &info), TESSERA_OK);
  EXPECT_EQ(info.start, memory);
  EXPECT_EQ(info.bytes, 1U << 20);
  EXPECT_EQ(info.mark, 0U);
  const void* low = nullptr;
  const void* high = nullptr;
  tessera_host_range(&handle_, &low, &high);
  EXPECT_LE(low, memory);
  EXPECT_GT(high, memory);
  EXPECT_EQ(tessera_host_free(&handle_, memory), TESSERA_OK);
  EXPECT_EQ(tessera_host_free(&handle_, memory), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_host_query(&handle_, memory, &info), TESSERA_NOT_FOUND);
}

TEST_F(HostApiTest, TrimReturnsFreedBlocks) {
  void* memory = nullptr;
  ASSERT_EQ(tessera_host_malloc_marked(&handle_, 1 << 20, 5, &memory), TESSERA_OK);
  EXPECT_EQ(tessera_host_free(&handle_, memory), TESSERA_OK);
  tessera_stats stats{};
  stats.size = sizeof(stats);
  ASSERT_EQ(tessera_get_stats(&handle_, &stats), TESSERA_OK);
  EXPECT_GE(stats.host_block_pinned, 1U << 20);
  EXPECT_GE(stats.host_used, stats.host_block_pinned) << "part of the host budget";
  ASSERT_EQ(tessera_trim(&handle_), TESSERA_OK);
  ASSERT_EQ(tessera_get_stats(&handle_, &stats), TESSERA_OK);
  EXPECT_EQ(stats.host_block_pinned, 0U);
}

TEST_F(HostApiTest, YieldReturnsWhatIsUnused) {
  void* memory = nullptr;
  ASSERT_EQ(tessera_host_malloc(&handle_, 1 << 20, &memory), TESSERA_OK);
  EXPECT_EQ(tessera_host_free(&handle_, memory), TESSERA_OK);
  std::uint64_t yielded = 0;
  ASSERT_EQ(tessera_host_yield(&handle_, &yielded), TESSERA_OK);
  EXPECT_GE(yielded, 1U << 20);
  ASSERT_EQ(tessera_host_yield(&handle_, &yielded), TESSERA_OK);
  EXPECT_EQ(yielded, 0U);
}

TEST_F(HostApiTest, AfterTheEndOfTheContextBlocksAreGone) {
  void* memory = nullptr;
  ASSERT_EQ(tessera_host_malloc(&handle_, 1 << 20, &memory), TESSERA_OK);
  tessera_host_end(&handle_);
  EXPECT_EQ(tessera_host_free(&handle_, memory), TESSERA_NOT_FOUND);
}

TEST_F(HostApiTest, RefusesNullNothingAndTooMuch) {
  void* memory = nullptr;
  tessera_host_info info{};
  std::uint64_t yielded = 0;
  EXPECT_EQ(tessera_host_malloc(nullptr, 1, &memory), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_host_malloc(&handle_, 1, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_host_malloc(&handle_, 0, &memory), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_host_malloc(&handle_, SIZE_MAX, &memory), TESSERA_OUT_OF_MEMORY);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(tessera_host_free(&handle_, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_host_query(&handle_, &info, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_host_yield(nullptr, &yielded), TESSERA_INVALID_ARGUMENT);
  tessera_note_beside(&handle_, TESSERA_BESIDE_KINDS, 1);
}

}  // namespace
}  // namespace tessera
