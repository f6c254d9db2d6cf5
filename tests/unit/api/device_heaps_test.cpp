#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

using DeviceHeapsTest = AllocatorMachine;

TEST_F(DeviceHeapsTest, TheManagedRangeHoldsEveryBlock) {
  start(small(32_MiB, 64_MiB));
  EXPECT_EQ(allocator_->heaps().managed_range().second, Address());
  for (std::uint64_t device = 0; device < 2; ++device) {
    EXPECT_TRUE(allocator_->heaps().manages(allocate(1_MiB, DeviceId(device))));
  }
}

// As large as a heap, where the second one would have been placed. The second one may then be below the first.
TEST_F(DeviceHeapsTest, AddressesBetweenTwoHeapsAreNotManaged) {
  start(small(32_MiB, 64_MiB));
  const Address first = allocate(1_MiB);
  const auto [low, high] = allocator_->heaps().managed_range();
  const Bytes heap = high - low;
  const Address between = sim_->reserve(heap, kBasePage, high).value();
  const Address second = allocate(1_MiB, DeviceId(1));
  const auto range = allocator_->heaps().managed_range();
  ASSERT_GE(range.second - range.first, heap * 3) << "the heaps and what is between them";
  const Address behind_lower = range.first + heap;
  EXPECT_FALSE(allocator_->heaps().manages(behind_lower));
  EXPECT_FALSE(allocator_->heaps().manages(behind_lower + (heap - Bytes(1))));
  EXPECT_TRUE(allocator_->heaps().manages(first));
  EXPECT_TRUE(allocator_->heaps().manages(second));
  EXPECT_TRUE(sim_->release(between, heap).is_ok());
}

TEST_F(DeviceHeapsTest, AHeapIsBuiltAtItsFirstUse) {
  start(small(16_MiB, 64_MiB));
  DeviceHeaps& heaps = allocator_->heaps();
  EXPECT_EQ(heaps.made(DeviceId(1)), nullptr);
  EXPECT_EQ(heaps.only(), nullptr);
  const Address block = allocate(4_MiB, DeviceId(1));
  DeviceHeap* const second = heaps.made(DeviceId(1));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(heaps.heap(DeviceId(1)).value(), second);
  EXPECT_EQ(heaps.of(block), second);
  EXPECT_EQ(heaps.only(), second);
  allocate(4_MiB);
  EXPECT_EQ(heaps.only(), nullptr) << "there are two";
  std::vector<DeviceId> devices;
  for (const DeviceHeap* const heap : heaps.all()) devices.push_back(heap->device());
  EXPECT_EQ(devices, (std::vector{DeviceId(0), DeviceId(1)}));
}

TEST_F(DeviceHeapsTest, NoCallFindsTheBlocksOfAnEndedDevice) {
  start(small(16_MiB, 64_MiB));
  const Address block = allocate(4_MiB), other = allocate(4_MiB, DeviceId(1));
  allocator_->heaps().end(DeviceId());
  EXPECT_EQ(allocator_->heaps().made(DeviceId()), nullptr);
  EXPECT_EQ(allocator_->heaps().check_is_ours(block).code(), Code::kNotFound);
  EXPECT_TRUE(allocator_->heaps().check_is_ours(other).is_ok());
}

// One block more than fits, used cyclically: under lru every block has been evicted when it is used next.
class NextPolicyTest : public AllocatorMachine {
 protected:
  static constexpr std::uint64_t kBlocks = 5, kRounds = 6;

  std::uint64_t fetches_of_a_circle(DeviceId device) {
    std::vector<Address> blocks;
    for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.push_back(allocate(4_MiB, device));
    const std::uint64_t before = allocator_->stats().snapshot().totals.fetches;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (const Address block : blocks) {
        EXPECT_TRUE(allocator_->uses().touch(block, StreamId(), Access::kWrite).is_ok());
        EXPECT_TRUE(allocator_->streams().synchronize(device).is_ok());
      }
    }
    const std::uint64_t fetches = allocator_->stats().snapshot().totals.fetches - before;
    for (const Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
    return fetches;
  }
  std::string policy() {
    for (const StatsSnapshot::Fact& fact : allocator_->stats().snapshot().facts) {
      if (fact.name == "policy") return fact.value;
    }
    return {};
  }
};

TEST_F(NextPolicyTest, AppliesToAllDevicesIncludingLaterOnes) {
  Options options = small(16_MiB, 128_MiB);
  options.policy = "recency";
  start(options);
  const std::uint64_t spared = fetches_of_a_circle(DeviceId(0));
  ASSERT_TRUE(allocator_->heaps().set_policy("lru").is_ok());
  EXPECT_EQ(policy(), "lru");
  const std::uint64_t most = 3 * kBlocks * kRounds / 4;  // a block is one page
  EXPECT_LT(spared, most);
  EXPECT_GT(fetches_of_a_circle(DeviceId(1)), most);
  EXPECT_GT(fetches_of_a_circle(DeviceId(0)), most);
}

TEST_F(NextPolicyTest, MayHaveAParameterAndMustBeKnown) {
  start(small(16_MiB, 64_MiB));
  allocate(4_MiB);
  EXPECT_TRUE(allocator_->heaps().set_policy("atc24:0.5").is_ok());
  for (const char* const wrong : {"wishful", "", "lru:1", "atc24:half"}) {
    EXPECT_EQ(allocator_->heaps().set_policy(wrong).code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(policy(), "atc24:0.5");
}

// While simulations and the pump run concurrently.
TEST_F(NextPolicyTest, IsSwitchedDuringLaunches) {
  start(small(16_MiB, 128_MiB));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> launched{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Address> blocks;
      for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4_MiB, DeviceId(t)));
      while (!over.load()) {
        for (const Address block : blocks) {
          EXPECT_TRUE(allocator_->uses().touch(block, StreamId(), Access::kWrite).is_ok());
          launched.fetch_add(1);
        }
      }
    });
  }
  std::thread other([&] {
    while (!over.load()) EXPECT_TRUE(allocator_->heaps().set_policy("auto").is_ok());
  });
  for (const PolicyEntry& entry : policies()) {
    const std::uint64_t until = launched.load() + 40;  // long enough to learn iterations
    while (launched.load() < until) std::this_thread::yield();
    EXPECT_TRUE(allocator_->heaps().set_policy(entry.name).is_ok());
  }
  over.store(true);
  other.join();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
