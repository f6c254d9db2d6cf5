// The whole machine on virtual foundations: the production code, a device of any size, no bytes.
#include <gtest/gtest.h>

#include "api/allocator.hpp"
#include "base/virtual_clock.hpp"
#include "driver/sim_driver.hpp"
#include "tier/virtual_file_io.hpp"

namespace tessera {
namespace {

class VirtualAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const LinkSpeed link{.bytes_per_second = 32_GiB / 1_B, .latency = {}};
    auto driver = std::make_unique<SimDriver>(SimOptions{.memory = 80_GiB,
                                                         .inbound = link,
                                                         .outbound = link,
                                                         .contents = SimContents::kNone},
                                              clock_);
    driver_ = driver.get();
    Options options;
    options.device_memory = 64_GiB;
    options.host_memory = 128_GiB;
    options.log_level = "quiet";
    auto file = std::make_unique<FileTier>(
        std::make_unique<VirtualFileIo>(clock_, LinkSpeed{1'000'000'000, {}},
                                        LinkSpeed{1'000'000'000, {}}),
        1_TiB, checksum_of_nothing);
    auto made = Allocator::create(
        Foundations{clock_, std::move(driver), std::move(file), pages_, false}, options);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    allocator_ = made.take();
    stream_ = driver_->create_stream(DeviceId()).take();
  }
  Address allocate(Bytes bytes) {
    auto block = allocator_->allocate(DeviceId(), bytes, stream_);
    EXPECT_TRUE(block.is_ok()) << block.status().to_string();
    return block.is_ok() ? block.value() : Address();
  }
  void use(Address address, std::size_t written) {
    AnnouncedUse use;
    const Status begun = allocator_->begin_use({&address, 1}, written, stream_, "work", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    allocator_->end_use(use);
  }
  tessera_stats stats() { return allocator_->stats().totals; }
  void finish() {
    ASSERT_TRUE(driver_->synchronize(stream_).is_ok());
    allocator_->advance();  // counts what has arrived
    EXPECT_TRUE(allocator_->validate().is_ok());
  }

  VirtualClock clock_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;
  StreamId stream_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(VirtualAllocatorTest, WhatFitsTakesNoTime) {
  for (int i = 0; i < 30; ++i) use(allocate(2_GiB), 1);
  finish();
  EXPECT_EQ(clock_.now(), Nanoseconds(0));
  EXPECT_EQ(stats().bytes_out, 0U);
}

TEST_F(VirtualAllocatorTest, BytesThatDoNotFitTakeTheTimeOfTheirLinks) {
  const Address first = allocate(32_GiB);
  use(first, 1);
  use(allocate(32_GiB), 1);
  use(allocate(32_GiB), 1);
  EXPECT_GE(stats().bytes_out, (32_GiB).value());
  EXPECT_GE(clock_.now(), Nanoseconds(1'000'000'000));
  use(first, 0);
  finish();
  EXPECT_GE(stats().bytes_in, (32_GiB).value());
  EXPECT_LT(clock_.now(), Nanoseconds(5'000'000'000));
}

TEST_F(VirtualAllocatorTest, AReadLeavesTheCopyBelowValid) {
  const Address first = allocate(32_GiB), second = allocate(32_GiB);
  use(first, 1);
  use(second, 1);
  use(allocate(32_GiB), 1);
  use(first, 0);  // comes back, and stays clean
  const std::uint64_t out = stats().bytes_out;
  use(second, 0);
  use(allocate(20_GiB), 1);
  finish();
  EXPECT_GT(stats().clean_evictions, 0U);
  EXPECT_GT(stats().bytes_out, out);
}

TEST_F(VirtualAllocatorTest, TheFileTierTakesWhatTheHostCannot) {
  std::vector<Address> blocks;
  for (int i = 0; i < 30; ++i) {
    blocks.push_back(allocate(16_GiB));
    use(blocks.back(), 1);
  }
  EXPECT_GT(stats().bytes_file_written, (200_GiB).value());
  use(blocks.front(), 0);
  finish();
  EXPECT_GT(stats().bytes_file_read, 0U);
}

}  // namespace
}  // namespace tessera
