#include "replay/virtual_machine.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(VirtualMachine, IsAsLargeAsAskedAndTimeStandsStill) {
  ReplayOptions options;
  options.device_memory = 80_GiB;
  options.host_memory = 512_GiB;
  options.file_memory = 8_TiB;
  auto made = VirtualMachine::create(options, 2);
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  VirtualMachine& machine = *made.value();
  for (std::uint64_t device : {0U, 1U}) {
    EXPECT_EQ(machine.allocator().memory_info(DeviceId(device)).value().total, 80_GiB);
  }
  EXPECT_FALSE(machine.step());
  EXPECT_EQ(machine.clock().now(), Nanoseconds(0));
}

TEST(VirtualMachine, LooksAfterMovesThatNobodyWaitsFor) {
  ReplayOptions options;
  options.device_memory = 64_MiB;
  auto made = VirtualMachine::create(options, 1);
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  VirtualMachine& machine = *made.value();
  const StreamId stream = machine.driver().create_stream(DeviceId()).take();
  for (int i = 0; i < 3; ++i) {
    const Address block = machine.allocator().allocate(DeviceId(), 32_MiB, stream).take();
    ASSERT_TRUE(machine.allocator().touch(block, stream, Access::kWrite).is_ok());
  }
  // Two blocks fill the device, so one more leaves ahead of need, and only looking ends that.
  while (machine.step()) continue;
  machine.clock().run_until(machine.clock().now() + Nanoseconds(1'000'000));
  machine.look();
  while (machine.step()) continue;
  EXPECT_GE(machine.allocator().stats().totals.evictions, 1U);
  EXPECT_TRUE(machine.allocator().validate().is_ok());
}

}  // namespace
}  // namespace tessera
