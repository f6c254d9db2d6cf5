#include "page/page_manager.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

constexpr Domain kWeights{1, StreamId(0), TagId(7)};
constexpr Domain kOthers{1, StreamId(0), TagId(8)};

class PageManagerTest : public LayerTest {
 protected:
  PageManagerTest() : LayerTest({.device = 128_MiB, .host = 128_MiB, .heap = 512_MiB}) {}

  Run* acquire(Bytes bytes, Domain domain = kWeights) { return take(pages().acquire(bytes, domain, {})); }
  void release(Run* run) { expect_ok(pages().release(run)); }
  std::uint64_t window_of(const Run* run) { return (run->address - pages().low()) / kLargePage; }
};

TEST_F(PageManagerTest, ARunBelowALargePageHasSmallerOnes) {
  Run* const run = acquire(5_MiB);
  EXPECT_EQ(run->shape, (RunShape{.large = 0, .base = 1, .between = {0, 0, 1}}));
  EXPECT_EQ(run->tag, TagId(7));
  release(run);
}

TEST_F(PageManagerTest, ALargeRunIsAlignedAndItsTailFollowsInTheNextWindow) {
  Run* const run = acquire(70_MiB);
  EXPECT_EQ(run->shape, (RunShape{.large = 2, .base = 1, .between = {0, 0, 1}}));
  EXPECT_EQ(run->address.value() % kLargePage.value(), 0u);
  EXPECT_EQ(pages().find(run->address + 65_MiB), run);
  // The rest of the tail's window serves small runs of the same domain.
  Run* const small = acquire(2_MiB);
  EXPECT_EQ(window_of(small), window_of(run) + 2);
  expect_ok(pages().validate());
  release(run);
  release(small);
  EXPECT_EQ(pages().stats().in_windows, Bytes());
}

TEST_F(PageManagerTest, DomainsShareNoWindow) {
  Run* const weight = acquire(2_MiB, kWeights);
  Run* const other = acquire(2_MiB, kOthers);
  Run* const stream = acquire(2_MiB, {1, StreamId(64), TagId(7)});
  Run* const pool = acquire(2_MiB, {2, StreamId(0), TagId(7)});
  Run* const more = acquire(2_MiB, kWeights);
  EXPECT_EQ(window_of(weight), window_of(more));
  for (Run* const run : {other, stream, pool}) EXPECT_NE(window_of(run), window_of(weight));
  expect_ok(pages().validate());
  for (Run* const run : {weight, other, stream, pool, more}) release(run);
}

TEST_F(PageManagerTest, TakesTheBestFitAmongTheFreePagesOfTheDomain) {
  std::vector<Run*> runs;
  for (const std::uint64_t pages : {4u, 1u, 2u, 1u, 8u}) runs.push_back(acquire(kBasePage * pages));
  const Address two = runs[2]->address;
  release(runs[0]);  // leaves 4 free
  release(runs[2]);  // and 2
  Run* const fits = acquire(4_MiB);
  EXPECT_EQ(fits->address, two);
  for (Run* const run : {runs[1], runs[3], runs[4], fits}) release(run);
}

TEST_F(PageManagerTest, NeighboursMergeAndAFreeWindowServesAnyDomain) {
  std::vector<Run*> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(acquire(4_MiB));
  EXPECT_EQ(pages().stats().in_windows, 32_MiB);
  for (const std::size_t i : {1u, 6u, 3u, 0u, 2u, 7u, 5u}) release(runs[i]);
  EXPECT_EQ(pages().stats().in_windows, 32_MiB);
  Run* const merged = acquire(16_MiB);
  EXPECT_EQ(pages().stats().in_windows, 32_MiB);
  expect_ok(pages().validate());
  release(merged);
  release(runs[4]);
  EXPECT_EQ(pages().stats().in_windows, Bytes());
  release(acquire(256_MiB, kOthers));
}

TEST_F(PageManagerTest, FindsARunByEveryAddressInIt) {
  Run* const run = acquire(34_MiB);
  EXPECT_EQ(pages().find(run->address), run);
  EXPECT_EQ(pages().find(run->address + 33_MiB), run);
  EXPECT_EQ(pages().find(run->address + 34_MiB), nullptr);
  EXPECT_EQ(pages().find(Address(12345)), nullptr);
  const Address address = run->address;
  release(run);
  EXPECT_EQ(pages().find(address), nullptr);
}

TEST_F(PageManagerTest, RefusesMoreThanAllTiersHoldWithoutEffect) {
  Run* const half = acquire(128_MiB);
  const auto refused = pages().acquire(160_MiB, kWeights, {});  // 256 MiB in all tiers
  EXPECT_EQ(refused.status().code(), Code::kOutOfMemory);
  EXPECT_EQ(pages().stats().in_windows, 128_MiB);
  expect_ok(pages().validate());
  release(half);
}

TEST_F(PageManagerTest, MoreThanTheAddressesThereAreIsOutOfMemory) {
  EXPECT_EQ(pages().acquire(513_MiB, kWeights, {}).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(pages().acquire(Bytes(), kWeights, {}).status().code(), Code::kInvalidArgument);
}

TEST_F(PageManagerTest, ARunInABlockingUseStaysWhereItIs) {
  Run* const run = acquire(2_MiB);
  Use use;
  Run* const runs[] = {run};
  expect_ok(residency().begin_use(runs, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(pages().release(run).code(), Code::kBusy);
  EXPECT_EQ(pages().find(run->address), run);
  expect_ok(pages().validate());
  residency().end_use(runs, kNoStream, use);
  release(run);
}

}  // namespace
}  // namespace tessera
