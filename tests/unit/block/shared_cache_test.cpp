#include "block/shared_cache.hpp"

#include <gtest/gtest.h>

#include "block_steps_fixture.hpp"

namespace tessera {
namespace {

using SharedCacheTest = BlockStepsTest;

TEST_F(SharedCacheTest, Step2ReusesABlockFreedOnTheSameStreamWhileItsWorkRuns) {
  for (const Bytes bytes : {512_KiB, 2_MiB}) {
    const Address block = allocate(bytes, a_);
    const auto held = hold(a_);
    free_elsewhere(block, a_);
    EXPECT_EQ(allocate(bytes, a_), block);
  }
  EXPECT_EQ(hits(), 0u);
}

TEST_F(SharedCacheTest, Step2ReusesABlockFreedOnNoStreamForAnyStream) {
  const Address block = allocate(2_MiB, a_);
  free_elsewhere(block, kNoStream);
  EXPECT_EQ(allocate(2_MiB, b_), block);
}

TEST_F(SharedCacheTest, Step3ReusesABlockOnceAnotherStreamHasPassed) {
  const Address block = allocate(2_MiB, a_);
  auto held = hold(a_);
  free_elsewhere(block, a_);
  EXPECT_NE(allocate(2_MiB, b_), block);
  held.reset();
  expect_ok(driver().synchronize(a_));
  EXPECT_EQ(allocate(2_MiB, b_), block);
}

TEST_F(SharedCacheTest, Step3ReusesASlotOnceAnotherStreamHasPassed) {
  Address slots[4];
  for (Address& slot : slots) slot = allocate(512_KiB, a_);  // one whole slab
  auto held = hold(b_);
  free(slots[1], b_);
  for (int i = 0; i < 4; ++i) EXPECT_NE(allocate(512_KiB, a_), slots[1]);  // another one
  held.reset();
  expect_ok(driver().synchronize(b_));
  EXPECT_EQ(allocate(512_KiB, a_), slots[1]);
}

TEST_F(SharedCacheTest, Step4MakesANewRunWithRecycledFrames) {
  free(allocate(6_MiB, a_), a_);
  expect_ok(driver().synchronize(a_));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().runs, 0u);
  const std::uint64_t created = driver().calls(DriverCall::kCreateFrame);
  allocate(4_MiB, b_, TagId(9));
  EXPECT_EQ(pages().stats().runs, 1u);
  EXPECT_EQ(driver().calls(DriverCall::kCreateFrame), created);
}

TEST_F(SharedCacheTest, ADestroyedStreamsBlocksServeItsNamesakeOnlyWhenItsWorkIsOver) {
  const StreamId gone = take(driver().create_stream(DeviceId(0)));
  const Address block = allocate(2_MiB, gone);
  const Address slot = allocate(512_KiB, gone);
  auto held = hold(gone);
  free(block, gone);
  free(slot, gone);
  expect_ok(blocks().retire(gone));
  // A new stream that reuses the old handle.
  EXPECT_NE(allocate(2_MiB, gone), block);
  EXPECT_NE(allocate(512_KiB, gone), slot);
  held.reset();
  expect_ok(driver().synchronize(gone));
  EXPECT_EQ(allocate(2_MiB, gone), block);
  expect_ok(driver().destroy_stream(gone));
}

}  // namespace
}  // namespace tessera
