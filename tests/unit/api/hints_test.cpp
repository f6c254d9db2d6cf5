// Whole tags, alternating policies, blocks of several streams, and blocks evicted only on command.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "allocator_machine.hpp"
#include "held_kernel.hpp"

namespace tessera {
namespace {

class AllocatorTagsTest : public AllocatorMachine {
 protected:
  Address tagged(const char* tag, Bytes bytes, DeviceId device = DeviceId()) {
    EXPECT_TRUE(TagStack::push(allocator_->tags().intern(tag).value()).is_ok());
    const Address block = allocate(bytes, device);
    EXPECT_TRUE(TagStack::pop().is_ok());
    return block;
  }
  Bytes on_device(Address block) { return allocator_->query(block).value().tiers[0]; }
};

TEST_F(AllocatorTagsTest, SleepAndWakeCoverAllDevices) {
  start(small(32_MiB, 128_MiB));
  const Address here = tagged("weights", 4_MiB);
  const Address there = tagged("weights", 6_MiB, DeviceId(1));
  const Address other = tagged("cache", 2_MiB);
  write(here, 1, 4_MiB);
  write(other, 3, 2_MiB);
  EXPECT_EQ(allocator_->sleep("weights").value().moved, 10_MiB);
  EXPECT_EQ(on_device(here), Bytes());
  EXPECT_EQ(on_device(there), Bytes());
  EXPECT_EQ(on_device(other), 2_MiB);
  EXPECT_EQ(allocator_->wake("weights").value().moved, 10_MiB);
  EXPECT_TRUE(holds(here, 1, 4_MiB));
  EXPECT_TRUE(holds(other, 3, 2_MiB));
}

TEST_F(AllocatorTagsTest, APushedTagGoesBeforeTheOneOfAnAllocation) {
  start(small(32_MiB, 64_MiB));
  const TagId pool = allocator_->tags().intern("pool 1").value();
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, kNoStream, pool).value();
  EXPECT_EQ(allocator_->query(block).value().block.tag, pool);
  const TagId weights = allocator_->tags().intern("weights").value();
  ASSERT_TRUE(TagStack::push(weights).is_ok());
  const Address pushed = allocator_->allocate(DeviceId(), 4_MiB, kNoStream, pool).value();
  ASSERT_TRUE(TagStack::pop().is_ok());
  EXPECT_EQ(allocator_->query(pushed).value().block.tag, weights);
  EXPECT_EQ(allocator_->sleep("pool 1").value().moved, 4_MiB);
}

TEST_F(AllocatorTagsTest, AMisspelledTagIsAnError) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  EXPECT_EQ(allocator_->sleep("wieghts").status().code(), Code::kNotFound);
  EXPECT_EQ(allocator_->wake("wieghts").status().code(), Code::kNotFound);
}

TEST_F(AllocatorTagsTest, NullMeansAllAndEmptyMeansUntagged) {
  start(small(32_MiB, 64_MiB));
  tagged("weights", 4_MiB);
  const Address plain = allocate(2_MiB);
  EXPECT_EQ(allocator_->sleep("").value().moved, 2_MiB);
  EXPECT_EQ(on_device(plain), Bytes());
  EXPECT_EQ(allocator_->sleep(nullptr).value().moved, 4_MiB);
  EXPECT_EQ(allocator_->wake(nullptr).value().moved, 6_MiB);
}

TEST_F(AllocatorTagsTest, NewBlocksOfASleepingTagAreAwake) {
  start(small(32_MiB, 64_MiB));
  const Address old = tagged("kv", 4_MiB);
  write(old, 1, 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  const Address fresh = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(fresh), 4_MiB);
  EXPECT_EQ(on_device(old), Bytes());
  EXPECT_TRUE(holds(old, 1, 4_MiB));
}

TEST_F(AllocatorTagsTest, ABlockFreedAsleepIsReusedAndItsBytesAreForgotten) {
  start(small(32_MiB, 64_MiB));
  const Address first = tagged("kv", 4_MiB);
  write(first, 1, 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  ASSERT_TRUE(allocator_->free(first, kNoStream).is_ok());
  EXPECT_EQ(allocator_->wake("kv").value().moved, Bytes());
  const Address again = tagged("kv", 4_MiB);
  EXPECT_EQ(on_device(again), 4_MiB);
  write(again, 2, 4_MiB);
  EXPECT_TRUE(holds(again, 2, 4_MiB));
}

TEST_F(AllocatorTagsTest, SmallBlocksSleepWithTheirSlab) {
  start(small(32_MiB, 64_MiB));
  const Address a = tagged("kv", 4_KiB);
  const Address b = tagged("kv", 4_KiB);
  write(a, 1, 4_KiB);
  write(b, 2, 4_KiB);
  EXPECT_EQ(allocator_->sleep("kv").value().stayed, Bytes());
  EXPECT_TRUE(holds(a, 1, 4_KiB));
  EXPECT_TRUE(holds(b, 2, 4_KiB));
}

TEST_F(AllocatorTagsTest, WithoutAutomaticEvictionRunsOutOfMemory) {
  start(small(32_MiB, 128_MiB));
  ASSERT_TRUE(allocator_->set_automatic(false).is_ok());
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(tagged("kv", 4_MiB));
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).status().code(), Code::kOutOfMemory);
  for (Address block : blocks) EXPECT_EQ(on_device(block), 4_MiB);
  ASSERT_TRUE(allocator_->sleep("kv").is_ok());
  EXPECT_TRUE(allocator_->allocate(DeviceId(), 4_MiB, kNoStream).is_ok());
}

// One block more than fits, used cyclically: under lru every block has been evicted when it is used next.
class NextPolicyTest : public AllocatorTagsTest {
 protected:
  static constexpr std::uint64_t kBlocks = 5, kRounds = 6;

  std::uint64_t fetches_of_a_circle(DeviceId device) {
    std::vector<Address> blocks;
    for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.push_back(allocate(4_MiB, device));
    const std::uint64_t before = allocator_->stats().totals.fetches;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (const Address block : blocks) {
        EXPECT_TRUE(allocator_->touch(block, StreamId(), Access::kWrite).is_ok());
        EXPECT_TRUE(allocator_->synchronize(device).is_ok());
      }
    }
    const std::uint64_t fetches = allocator_->stats().totals.fetches - before;
    for (const Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
    return fetches;
  }
  std::string policy() {
    for (const StatsSnapshot::Fact& fact : allocator_->stats().facts) {
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
  ASSERT_TRUE(allocator_->set_policy("lru").is_ok());
  EXPECT_EQ(policy(), "lru");
  const std::uint64_t most = 3 * kBlocks * kRounds * (4_MiB / kBasePage) / 4;
  EXPECT_LT(spared, most);
  EXPECT_GT(fetches_of_a_circle(DeviceId(1)), most);
  EXPECT_GT(fetches_of_a_circle(DeviceId(0)), most);
}

TEST_F(NextPolicyTest, MayHaveAParameterAndMustBeKnown) {
  start(small(16_MiB, 64_MiB));
  allocate(4_MiB);
  EXPECT_TRUE(allocator_->set_policy("atc24:0.5").is_ok());
  for (const char* const wrong : {"wishful", "", "lru:1", "atc24:half"}) {
    EXPECT_EQ(allocator_->set_policy(wrong).code(), Code::kInvalidArgument) << wrong;
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
          EXPECT_TRUE(allocator_->touch(block, StreamId(), Access::kWrite).is_ok());
          launched.fetch_add(1);
        }
      }
    });
  }
  std::thread other([&] {
    while (!over.load()) EXPECT_TRUE(allocator_->set_policy("auto").is_ok());
  });
  for (const PolicyEntry& entry : policies()) {
    const std::uint64_t until = launched.load() + 40;  // long enough to learn iterations
    while (launched.load() < until) std::this_thread::yield();
    EXPECT_TRUE(allocator_->set_policy(entry.name).is_ok());
  }
  over.store(true);
  other.join();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AllocatorTagsTest, ABlockOfTwoStreamsWaitsForBothBeforeItIsReused) {
  start(small(32_MiB, 64_MiB));
  const StreamId one = sim_->create_stream(DeviceId()).value();
  const StreamId two = sim_->create_stream(DeviceId()).value();
  HeldKernel work;
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, one).value();
  ASSERT_TRUE(work.launch(*sim_, two).is_ok());
  const StreamId streams[] = {one, two};
  ASSERT_TRUE(allocator_->free_after(block, streams).is_ok());
  EXPECT_NE(allocator_->allocate(DeviceId(), 4_MiB, one).value(), block);
  EXPECT_NE(allocator_->allocate(DeviceId(), 4_MiB, two).value(), block);
  EXPECT_TRUE(sim_->synchronize(one).is_ok()) << "no stream waits for another";
  work.let_go();
  ASSERT_TRUE(sim_->synchronize(DeviceId()).is_ok());
  ASSERT_TRUE(allocator_->trim().is_ok());
  EXPECT_EQ(allocator_->stats().totals.live_blocks, 2U);
  for (StreamId stream : streams) {
    EXPECT_TRUE(allocator_->retire_stream(stream).is_ok());
    EXPECT_TRUE(sim_->destroy_stream(stream).is_ok());
  }
}

TEST_F(AllocatorTagsTest, AfterOneStreamIsAnOrdinaryFree) {
  start(small(32_MiB, 64_MiB));
  const StreamId streams[] = {StreamId(), StreamId()};
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value();
  ASSERT_TRUE(allocator_->free_after(block, streams).is_ok());
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value(), block);
  EXPECT_EQ(allocator_->free_after(Address(4096), streams).code(), Code::kNotFound);
}

}  // namespace
}  // namespace tessera
