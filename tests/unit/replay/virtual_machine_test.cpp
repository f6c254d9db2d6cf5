#include "lab/replay/virtual_machine.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Two devices over one host tier and one spill file, with transfers that take longer than any test: what the first has
// begun stays in flight, unless it is waited for.
class TwoDevices : public testing::Test {
 protected:
  void start(Bytes device_memory, Bytes host_memory) {
    ReplayOptions options;
    options.device_memory = device_memory;
    options.host_memory = host_memory;
    options.file_memory = 8_GiB;
    options.file_read = options.file_write = 1'000'000;
    auto made = VirtualMachine::create(options, 2);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    machine_ = made.take();
  }
  void TearDown() override { EXPECT_EQ(allocator().validate().to_string(), "ok"); }

  Allocator& allocator() { return machine_->allocator(); }
  Status touch(Address block) { return allocator().uses().touch(block, StreamId(), Access::kWrite); }
  // Blocks written in sequence.
  std::vector<Address> written(DeviceId device, std::size_t count, Bytes bytes) {
    std::vector<Address> blocks;
    for (std::size_t i = 0; i < count; ++i) {
      const auto block = allocator().allocate(device, bytes, StreamId());
      EXPECT_EQ(block.status().to_string(), "ok") << "block " << i << " of device " << device.value();
      if (!block.is_ok()) break;
      blocks.push_back(block.value());
      EXPECT_EQ(touch(blocks.back()).to_string(), "ok");
    }
    return blocks;
  }

  std::unique_ptr<VirtualMachine> machine_;
};

TEST_F(TwoDevices, StagingFramesOfOneDeviceDoNotBlockTheOther) {
  ASSERT_NO_FATAL_FAILURE(start(128_MiB, Bytes()));
  // Of six blocks two have been evicted, which fills a reserve, and are being written.
  written(DeviceId(0), 6, 32_MiB);
  written(DeviceId(1), 6, 32_MiB);
}

TEST_F(TwoDevices, FileReadsOfOneDeviceDoNotBlockTheOther) {
  ASSERT_NO_FATAL_FAILURE(start(64_MiB, 1_GiB));
  const DeviceId one(0), other(1);
  // The blocks that fill host memory first stay there, so later ones go to the file.
  const auto filling = written(one, 600, 2_MiB);
  const auto many = written(one, 400, 2_MiB);
  const auto few = written(other, 40, 2_MiB);
  for (const Address block : filling) ASSERT_TRUE(allocator().free(block, StreamId()).is_ok());
  ASSERT_TRUE(allocator().driver_memory().trim().is_ok());
  while (machine_->step()) continue;
  ASSERT_TRUE(allocator().hints().prefetch(many).is_ok());
  for (const Address block : few) EXPECT_EQ(touch(block).to_string(), "ok");
}

TEST(VirtualMachine, HasTheRequestedMemoryAndAStoppedClock) {
  ReplayOptions options;
  options.device_memory = 80_GiB;
  options.host_memory = 512_GiB;
  options.file_memory = 8_TiB;
  auto made = VirtualMachine::create(options, 2);
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  VirtualMachine& machine = *made.value();
  for (std::uint64_t device : {0U, 1U}) {
    EXPECT_EQ(machine.allocator().memory().info(DeviceId(device)).value().total, 80_GiB);
  }
  EXPECT_FALSE(machine.step());
  EXPECT_EQ(machine.clock().now(), Nanoseconds(0));
}

TEST(VirtualMachine, CompletesMovesWithoutAWaiter) {
  ReplayOptions options;
  options.device_memory = 64_MiB;
  auto made = VirtualMachine::create(options, 1);
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  VirtualMachine& machine = *made.value();
  const StreamId stream = machine.driver().create_stream(DeviceId()).take();
  for (int i = 0; i < 3; ++i) {
    const Address block = machine.allocator().allocate(DeviceId(), 32_MiB, stream).take();
    ASSERT_TRUE(machine.allocator().uses().touch(block, stream, Access::kWrite).is_ok());
  }
  // Two blocks fill the device, so another is evicted ahead of need, and only polling completes that.
  while (machine.step()) continue;
  machine.clock().run_until(machine.clock().now() + Nanoseconds(1'000'000));
  machine.look();
  while (machine.step()) continue;
  EXPECT_GE(machine.allocator().stats().snapshot().totals.evictions, 1U);
  EXPECT_TRUE(machine.allocator().validate().is_ok());
}

}  // namespace
}  // namespace tessera
