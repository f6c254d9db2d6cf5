// The complete allocator on virtual foundations: production code, a device of any size, no bytes.
#include <gtest/gtest.h>

#include "api/allocator.hpp"
#include "base/virtual_clock.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class VirtualAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto link = static_cast<double>(32_GiB / 1_B);
    const Machine machine{.device = 80_GiB,
                          .file = 1_TiB,
                          .out_rate = link,
                          .in_rate = link,
                          .file_write_rate = 1e9,
                          .file_read_rate = 1e9};
    auto driver = std::make_unique<SimDriver>(sim_options(machine), clock_);
    driver_ = driver.get();
    Options options;
    options.device_memory = 64_GiB;
    options.host_memory = 128_GiB;
    options.log_level = "quiet";
    Foundations foundations{clock_, std::move(driver), sim_file(clock_, machine), pages_, false};
    auto made = Allocator::create(std::move(foundations), options);
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
    const Status begun = allocator_->uses().begin({&address, 1}, written, stream_, "work", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    allocator_->uses().end(use);
  }
  // Work of this duration that uses the block.
  void work(Address address, Bytes bytes, Nanoseconds time) {
    AnnouncedUse use;
    const Status begun = allocator_->uses().begin({&address, 1}, 1, stream_, "work", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    const DeviceRange range{address, bytes};
    EXPECT_TRUE(driver_->occupy(stream_, time, {&range, 1}).is_ok());
    allocator_->uses().end(use);
  }
  // Also checks that the statistics add up.
  std::uint64_t stalled_for(std::string_view cause) {
    const StatsSnapshot now = allocator_->stats().snapshot();
    const Status sums = check_sums(now);
    EXPECT_TRUE(sums.is_ok()) << sums.to_string();
    for (const auto& part : now.causes) {
      if (part.name == cause) return part.time.value();
    }
    return 0;
  }
  tessera_stats stats() { return allocator_->stats().snapshot().totals; }
  void finish() {
    ASSERT_TRUE(driver_->synchronize(stream_).is_ok());
    allocator_->heaps().advance();  // accounts for completed copies
    EXPECT_TRUE(allocator_->validate().is_ok());
  }

  VirtualClock clock_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;
  StreamId stream_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(VirtualAllocatorTest, AFittingWorkingSetTakesNoTime) {
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

TEST_F(VirtualAllocatorTest, AReadKeepsTheLowerCopyValid) {
  const Address first = allocate(32_GiB), second = allocate(32_GiB);
  use(first, 1);
  use(second, 1);
  use(allocate(32_GiB), 1);
  use(first, 0);  // fetched, and stays clean
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

TEST_F(VirtualAllocatorTest, AStallIsSplitIntoTheWorkAndTheCopyThatItWaitedFor) {
  const Address first = allocate(32_GiB), second = allocate(32_GiB);
  work(first, 32_GiB, Nanoseconds(1'000'000'000));
  work(second, 32_GiB, Nanoseconds(500'000'000));
  EXPECT_EQ(stats().stalls, 0U);
  allocate(32_GiB);
  EXPECT_EQ(stalled_for("work"), 1'500'000'000U);
  EXPECT_NEAR(static_cast<double>(stalled_for("copy_out")), 1e9, 1e6);
  EXPECT_EQ(stats().stalls, 1U);
  EXPECT_EQ(stats().stall_ns, stalled_for("work") + stalled_for("copy_out"));
}

// The engine's lock is given up meanwhile, and the fetch begins anew.
TEST_F(VirtualAllocatorTest, AWaitLongerThanTheThresholdIsAStall) {
  const Address first = allocate(32_GiB), second = allocate(32_GiB);
  work(first, 32_GiB, Nanoseconds(5'000'000'000));
  work(second, 32_GiB, Nanoseconds(5'000'000'000));
  const Nanoseconds before = clock_.now();
  allocate(32_GiB);
  EXPECT_EQ(stats().stalls, 1U);
  EXPECT_EQ(Nanoseconds(stats().stall_ns), clock_.now() - before);
  EXPECT_EQ(stats().stall_ns, stalled_for("work") + stalled_for("copy_out"));
}

// Work queued after the free may take any time.
TEST_F(VirtualAllocatorTest, FreedMemoryIsAvailableAfterTheWorkBeforeTheFree) {
  EXPECT_TRUE(allocator_->free(allocate(32_GiB), stream_).is_ok());  // the cached block makes memory short
  const Address freed = allocate(40_GiB), other = allocate(16_GiB);
  work(freed, 40_GiB, Nanoseconds(1'000'000'000));
  EXPECT_TRUE(allocator_->free(freed, stream_).is_ok());
  work(other, 16_GiB, Nanoseconds(1'000'000'000));
  const std::uint64_t before = stalled_for("work");
  allocate(41_GiB);
  EXPECT_EQ(stalled_for("work") - before, 1'000'000'000U);
}

TEST_F(VirtualAllocatorTest, AWaitForAFetchIsAStall) {
  const Address block = allocate(32_GiB);
  work(block, 32_GiB, Nanoseconds(5));
  ASSERT_TRUE(allocator_->hints().evict({&block, 1}).is_ok());
  EXPECT_EQ(stats().stalls, 0U) << "it was asked for";
  ASSERT_TRUE(allocator_->pins().pin(block).is_ok());
  EXPECT_NEAR(static_cast<double>(stalled_for("copy_in")), 1e9, 1e6);
}

TEST_F(VirtualAllocatorTest, DistinguishesFileReadAndWriteStalls) {
  std::vector<Address> blocks;
  for (int i = 0; i < 30; ++i) {
    blocks.push_back(allocate(16_GiB));
    use(blocks.back(), 1);
  }
  EXPECT_GT(stalled_for("file_write"), 0U);
  EXPECT_EQ(stalled_for("file_read"), 0U);
  use(blocks.front(), 0);
  finish();
  EXPECT_GT(stalled_for("file_read"), 0U);
}

// As at the end of a training step. The next step allocates the same again.
TEST_F(VirtualAllocatorTest, BlocksThatFillTheDeviceStayCachedWhenAllAreFreed) {
  std::vector<Address> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(allocate(1_GiB));
  for (const Address block : blocks) use(block, 1);
  for (const Address block : blocks) EXPECT_TRUE(allocator_->free(block, stream_).is_ok());
  while (clock_.step()) continue;
  allocator_->heaps().advance();
  EXPECT_TRUE(allocator_->free(allocate(2_MiB), stream_).is_ok());
  EXPECT_GE(allocator_->stats().snapshot().totals.reserved_bytes, (40_GiB).value());
}

}  // namespace
}  // namespace tessera
