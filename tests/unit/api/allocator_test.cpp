#include "api/allocator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "allocator_machine.hpp"
#include "held_kernel.hpp"

namespace tessera {
namespace {

using AllocatorTest = AllocatorMachine;

TEST_F(AllocatorTest, KeepsEveryByteOfThreeTimesTheDevice) {
  start(small(32_MiB, 128_MiB));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 24; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), 0xA0000000u + i, 4_MiB);
  }
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 24; ++i) {
      EXPECT_TRUE(holds(blocks[i], 0xA0000000u + i, 4_MiB)) << "block " << i;
    }
  }
  EXPECT_GT(allocator_->stats().snapshot().totals.evictions, 0u);
}

TEST_F(AllocatorTest, TheEndOfADeviceReturnsItsMemoryAndKeepsThatOfOthers) {
  start(small(32_MiB, 64_MiB));
  const Bytes before = sim_->memory_info(DeviceId(0)).value().free;
  const Address gone = allocate(4_MiB), pinned = allocate(1_MiB), other = allocate(4_MiB, DeviceId(1));
  write(gone, 1, 4_MiB);
  write(other, 2, 4_MiB);
  ASSERT_TRUE(allocator_->pins().pin(pinned).is_ok());
  allocator_->heaps().end(DeviceId(0));
  allocator_->heaps().end(DeviceId(0));
  allocator_->heaps().end(DeviceId(9));
  EXPECT_EQ(sim_->memory_info(DeviceId(0)).value().free, before);
  EXPECT_EQ(allocator_->memory().where(gone).status().code(), Code::kNotFound);
  EXPECT_FALSE(allocator_->heaps().manages(gone));
  EXPECT_TRUE(holds(other, 2, 4_MiB));
}

class CountedPages final : public HostPages {
 public:
  bool open(void* start, Bytes bytes) override {
    ++opened;
    return system_host_pages().open(start, bytes);
  }
  void close(void* start, Bytes bytes) override { system_host_pages().close(start, bytes); }
  std::atomic<int> opened{0};
};

TEST_F(AllocatorTest, PinsHostMemoryBeforeTheFirstEvictionAndMoreAsItFills) {
  CountedPages pages;
  auto driver = std::make_unique<SimDriver>(SimOptions{.memory = 256_MiB}, clock_);
  sim_ = driver.get();
  auto file = FileTier::open("", Bytes(0));
  ASSERT_TRUE(file.is_ok());
  constexpr bool kPump = true;
  auto made = Allocator::create({clock_, std::move(driver), file.take(), pages, kPump}, small(32_MiB, 256_MiB));
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  allocator_ = made.take();
  std::vector<Address> blocks;
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4_MiB));
  EXPECT_EQ(pages.opened, 0) << "half of the device is free";
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4_MiB));
  while (pages.opened == 0 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  EXPECT_EQ(pages.opened, 1) << "by the pump, before anything leaves";
  EXPECT_EQ(allocator_->stats().snapshot().totals.evictions, 0u);
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4_MiB));
  // About 16 MiB are off the device at any time, and the first piece has 64: only the pump requests a second.
  while (pages.opened < 2 && std::chrono::steady_clock::now() < late) {
    for (const Address block : blocks) write(block, 7, 4_MiB);
  }
  EXPECT_EQ(pages.opened, 2);
  allocator_.reset();
}

TEST_F(AllocatorTest, UsesTheFileWhenTheHostIsFull) {
  start(small(32_MiB, 16_MiB, 256_MiB));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 32; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), 0xB0000000u + i, 4_MiB);
  }
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_TRUE(holds(blocks[i], 0xB0000000u + i, 4_MiB)) << "block " << i;
  }
  EXPECT_GT(allocator_->stats().snapshot().totals.bytes_file_read, 0u);
}

TEST_F(AllocatorTest, ContinuesWithoutAnUnavailableFileTier) {
  Options options = small(32_MiB, 64_MiB, 256_MiB);
  options.file_dir = "/proc/no/such/directory";
  start(options);
  const Address block = allocate(4_MiB);
  write(block, 7, 4_MiB);
  EXPECT_TRUE(holds(block, 7, 4_MiB));
  EXPECT_EQ(allocator_->stats().snapshot().totals.file_capacity, 0u);
}

TEST_F(AllocatorTest, RunsOutWithAMessageThatNamesTheBudgets) {
  start(small(32_MiB, 32_MiB));
  std::vector<Address> blocks;
  Status failure;
  for (int i = 0; i < 64 && failure.is_ok(); ++i) {
    auto block = allocator_->allocate(DeviceId(), 4_MiB, kNoStream);
    failure = block.status();
    if (block.is_ok()) write(block.value(), 1, 4_MiB);
  }
  EXPECT_EQ(failure.code(), Code::kOutOfMemory);
  EXPECT_NE(failure.message().find("host"), std::string_view::npos) << failure.message();
}

TEST_F(AllocatorTest, AnUnknownDeviceIsAnError) {
  start(small(32_MiB, 32_MiB));
  EXPECT_FALSE(allocator_->allocate(DeviceId(5), 1_MiB, kNoStream).is_ok());
  EXPECT_EQ(allocator_->allocate(DeviceId(1000), 1_MiB, kNoStream).status().code(), Code::kInvalidArgument);
}

TEST_F(AllocatorTest, WithoutVirtualMemoryIsNotSupported) {
  start(small(32_MiB, 32_MiB), {.memory = 64_MiB, .virtual_memory = false});
  EXPECT_EQ(allocator_->allocate(DeviceId(), 1_MiB, kNoStream).status().code(), Code::kNotSupported);
}

TEST_F(AllocatorTest, ThreadsShareASmallDevice) {
  start(small(32_MiB, 128_MiB));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint32_t round = 0; round < 4; ++round) {
        std::vector<Address> blocks;
        for (std::uint32_t i = 0; i < 4; ++i) {
          blocks.push_back(allocate(4_MiB));
          write(blocks.back(), t * 100 + i, 4_MiB);
        }
        for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(blocks[i], t * 100 + i, 4_MiB));
        for (Address block : blocks) EXPECT_TRUE(allocator_->free(block, kNoStream).is_ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AllocatorTest, ABlockOfTwoStreamsWaitsForBothBeforeItIsReused) {
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
  ASSERT_TRUE(allocator_->driver_memory().trim().is_ok());
  EXPECT_EQ(allocator_->stats().snapshot().totals.live_blocks, 2U);
  for (StreamId stream : streams) {
    EXPECT_TRUE(allocator_->streams().retire(stream).is_ok());
    EXPECT_TRUE(sim_->destroy_stream(stream).is_ok());
  }
}

TEST_F(AllocatorTest, AfterOneStreamIsAnOrdinaryFree) {
  start(small(32_MiB, 64_MiB));
  const StreamId streams[] = {StreamId(), StreamId()};
  const Address block = allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value();
  ASSERT_TRUE(allocator_->free_after(block, streams).is_ok());
  EXPECT_EQ(allocator_->allocate(DeviceId(), 4_MiB, StreamId()).value(), block);
  EXPECT_EQ(allocator_->free_after(Address(4096), streams).code(), Code::kNotFound);
}

}  // namespace
}  // namespace tessera
