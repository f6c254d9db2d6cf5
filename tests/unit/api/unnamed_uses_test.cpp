#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class UnnamedUsesTest : public AllocatorMachine {
 protected:
  static Options backed() {
    Options options = small(16_MiB, 64_MiB);
    options.file_dir = "";
    options.unhinted_access = "host-backed";
    return options;
  }
};

TEST_F(UnnamedUsesTest, WorkThatNamesNoBlockPassesTheGatesOfAllDevices) {
  start(backed());
  const Address first = allocate(2_MiB), second = allocate(2_MiB, DeviceId(1));
  write(first, 1, 2_MiB);
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->uses()
                  .begin(std::span<const Address>(), StreamId(0), Access::kWrite, Use::Kind::kGate, "k", use)
                  .is_ok());
  EXPECT_EQ(use.gates, 3U);
  EXPECT_EQ(use.heap, nullptr);
  allocator_->uses().end(use);
  EXPECT_EQ(use.gates, 0U);
  EXPECT_TRUE(allocator_->hints().evict({&first, 1}).is_ok()) << "the gate can close";
  EXPECT_TRUE(allocator_->hints().evict({&second, 1}).is_ok());
}

TEST_F(UnnamedUsesTest, WithoutItWorkThatNamesNoBlockIsNotLookedAt) {
  start(small(16_MiB, 64_MiB));
  allocate(2_MiB);
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->uses()
                  .begin(std::span<const Address>(), StreamId(0), Access::kWrite, Use::Kind::kGate, "k", use)
                  .is_ok());
  EXPECT_EQ(use.gates, 0U);
}

TEST_F(UnnamedUsesTest, BlocksOfItsDeviceStayUntilItIsOver) {
  start(small(16_MiB, 64_MiB));
  const StreamId stream = sim_->create_stream(DeviceId()).value();
  const Address first = allocate(2_MiB), second = allocate(2_MiB, DeviceId(1));
  write(first, 7, 2_MiB);
  AnnouncedUse use;
  allocator_->unnamed_uses().begin(DeviceId(), stream, "k", use);
  EXPECT_EQ(use.gates, 1u) << "of its own device only";
  EXPECT_TRUE(allocator_->hints().evict({&second, 1}).is_ok());
  allocator_->uses().end(use);
  EXPECT_EQ(use.gates, 0u);
  EXPECT_TRUE(allocator_->hints().evict({&first, 1}).is_ok());
  EXPECT_TRUE(holds(first, 7, 2_MiB));
}

TEST_F(UnnamedUsesTest, WithoutADeviceItCountsOnAllInUse) {
  start(small(16_MiB, 64_MiB));
  allocate(2_MiB);
  allocate(2_MiB, DeviceId(1));
  AnnouncedUse use;
  allocator_->unnamed_uses().begin(std::nullopt, StreamId(), "k", use);
  EXPECT_EQ(use.gates, 3u);
  allocator_->uses().end(use);
}

}  // namespace
}  // namespace tessera
