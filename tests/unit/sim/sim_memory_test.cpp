#include "sim/sim_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { at_ = memory_.reserve(16_MiB, 2_MiB).take(); }
  void TearDown() override {
    const Status status = memory_.validate();
    EXPECT_TRUE(status.is_ok()) << status.message();
  }

  FrameId frame(Bytes bytes = 2_MiB) { return memory_.create_frame(kDevice, FrameLocation::kDevice, bytes).take(); }
  FrameId map(Bytes offset, Bytes bytes = 2_MiB) {
    const FrameId made = frame(bytes);
    EXPECT_TRUE(memory_.map(at_ + offset, bytes, made).is_ok());
    return made;
  }
  static void expect_violation(const Status& status, std::string_view words) {
    EXPECT_EQ(status.native_code(), native::kInvalidValue);
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
  }

  SimMemory memory_{SimOptions{.devices = 2, .memory = 64_MiB}};
  Address at_;
};

TEST_F(SimMemoryTest, MappingAMappedPageNamesBothFrames) {
  map(0_B);
  const Status status = memory_.map(at_, 2_MiB, frame());
  expect_violation(status, "frame 0x11 at");
  expect_violation(status, "frame 0x10 is mapped");
}

TEST_F(SimMemoryTest, AMappingMayNotReachIntoTheNext) {
  map(2_MiB);
  expect_violation(memory_.map(at_, 4_MiB, frame(4_MiB)), "is mapped at");
}

TEST_F(SimMemoryTest, OnlyReservedAddressesCanBeMapped) {
  expect_violation(memory_.map(at_ + 16_MiB, 2_MiB, frame()), "not within one reserved range");
  expect_violation(memory_.map(at_ + 14_MiB, 4_MiB, frame(4_MiB)), "not within");
}

TEST_F(SimMemoryTest, ANewMappingInheritsNothingFromAnUnmappedOne) {
  const FrameId first = map(0_B);
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, kDevice).is_ok());
  ASSERT_TRUE(memory_.unmap(at_, 2_MiB).is_ok());
  const FrameId second = map(4_MiB, 4_MiB);
  const auto mapping = memory_.mapping_at(at_ + 6_MiB);
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(mapping->address, at_ + 4_MiB);
  EXPECT_EQ(mapping->bytes, 4_MiB);
  EXPECT_EQ(mapping->frame.frame, second);
  EXPECT_EQ(mapping->access, 0U);
  EXPECT_FALSE(memory_.mapping_at(at_).has_value());
  EXPECT_TRUE(memory_.frames().destroy(first).is_ok());
  EXPECT_FALSE(memory_.frame(first).has_value()) << "its mapping does not count any more";
}

TEST_F(SimMemoryTest, ADestroyedFrameCannotBeMapped) {
  const FrameId gone = map(0_B);
  ASSERT_TRUE(memory_.frames().destroy(gone).is_ok());
  EXPECT_EQ(memory_.map(at_ + 2_MiB, 2_MiB, gone).native_code(), native::kInvalidHandle);
}

TEST_F(SimMemoryTest, OneFrameMayBeMappedTwice) {
  const FrameId both = map(0_B);
  ASSERT_TRUE(memory_.map(at_ + 2_MiB, 2_MiB, both).is_ok());
  ASSERT_TRUE(memory_.set_access(at_, 4_MiB, kDevice).is_ok());
  *reinterpret_cast<int*>(at_.value()) = 77;
  EXPECT_EQ(*reinterpret_cast<int*>((at_ + 2_MiB).value()), 77);
}

TEST_F(SimMemoryTest, PartOfAMappingCannotBeUnmapped) {
  map(0_B, 4_MiB);
  expect_violation(memory_.unmap(at_, 2_MiB), "covers only part of the mapping");
  expect_violation(memory_.unmap(at_ + 2_MiB, 2_MiB), "covers only part of the mapping");
  EXPECT_TRUE(memory_.unmap(at_, 4_MiB).is_ok());
}

TEST_F(SimMemoryTest, AGapCannotBeUnmappedOrOpened) {
  map(0_B);
  map(4_MiB);
  expect_violation(memory_.unmap(at_, 6_MiB), "nothing is mapped at");
  expect_violation(memory_.set_access(at_, 6_MiB, kDevice), "nothing is mapped at");
  EXPECT_TRUE(memory_.mapping_at(at_).has_value()) << "a failed call has changed nothing";
}

TEST_F(SimMemoryTest, ARangeWithMappingsCannotBeReleased) {
  map(4_MiB);
  expect_violation(memory_.release(at_, 16_MiB), "while frame 0x10 is mapped");
  expect_violation(memory_.release(at_, 2_MiB), "which was not reserved");
  ASSERT_TRUE(memory_.unmap(at_ + 4_MiB, 2_MiB).is_ok());
  EXPECT_TRUE(memory_.release(at_, 16_MiB).is_ok());
  expect_violation(memory_.release(at_, 16_MiB), "which was not reserved");
}

TEST_F(SimMemoryTest, AccessIsPerDeviceAndPeersMayCopy) {
  map(0_B);
  EXPECT_FALSE(memory_.bytes_at(at_, 1_KiB, kDevice).is_ok());
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, DeviceId(1)).is_ok());
  expect_violation(memory_.bytes_at(at_, 1_KiB, kDevice).status(), "device 0 has no access");
  EXPECT_TRUE(memory_.bytes_at(at_, 1_KiB, DeviceId(1)).is_ok());
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, kDevice).is_ok());
  EXPECT_EQ(memory_.mapping_at(at_ + 1_MiB)->access, 3U);
}

// Whichever device it was created for.
TEST_F(SimMemoryTest, HostMemoryIsReachedWithAccessOfTheCopyingDeviceAlone) {
  const FrameId made = memory_.create_frame(kDevice, FrameLocation::kHost, 2_MiB).take();
  ASSERT_TRUE(memory_.map(at_, 2_MiB, made).is_ok());
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, kDevice).is_ok());
  EXPECT_TRUE(memory_.bytes_at(at_, 1_KiB, kDevice).is_ok());
  expect_violation(memory_.bytes_at(at_, 1_KiB, DeviceId(1)).status(), "device 1 has no access");
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, DeviceId(1)).is_ok());
  EXPECT_TRUE(memory_.bytes_at(at_, 1_KiB, DeviceId(1)).is_ok());
  EXPECT_TRUE(memory_.bytes_at(at_, 1_KiB, kDevice).is_ok());
}

TEST_F(SimMemoryTest, BytesMayReachOverMappingsButNotBeyond) {
  map(0_B);
  map(2_MiB);
  ASSERT_TRUE(memory_.set_access(at_, 4_MiB, kDevice).is_ok());
  const auto bytes = memory_.bytes_at(at_ + 1_MiB, 2_MiB, kDevice);
  ASSERT_TRUE(bytes.is_ok());
  ASSERT_EQ(bytes.value().bytes.size(), (2_MiB).value());
  bytes.value().bytes[(1_MiB).value()] = std::byte{9};
  EXPECT_EQ(*reinterpret_cast<unsigned char*>((at_ + 2_MiB).value()), 9);
  expect_violation(memory_.bytes_at(at_, 5_MiB, kDevice).status(), "is not mapped at");
}

TEST_F(SimMemoryTest, BytesAreOfTheDeviceOfTheirFirstFrame) {
  map(0_B);
  const FrameId peers = memory_.create_frame(DeviceId(1), FrameLocation::kDevice, 2_MiB).take();
  ASSERT_TRUE(memory_.map(at_ + 2_MiB, 2_MiB, peers).is_ok());
  for (const DeviceId device : {kDevice, DeviceId(1)}) {
    ASSERT_TRUE(memory_.set_access(at_, 4_MiB, device).is_ok());
  }
  EXPECT_EQ(memory_.bytes_at(at_ + 1_MiB, 2_MiB, DeviceId(1)).value().device, kDevice);
  EXPECT_EQ(memory_.bytes_at(at_ + 2_MiB, 2_MiB, kDevice).value().device, DeviceId(1));
}

TEST(SimMemoryWithDevicesApart, ADeviceWithoutALinkGetsNoAccess) {
  SimMemory memory({.devices = 2, .memory = 8_MiB, .apart = {{0, 1}}});
  const Address at = memory.reserve(6_MiB, 2_MiB).take();
  const auto map = [&](std::uint64_t page, DeviceId device, FrameLocation location) {
    const FrameId frame = memory.create_frame(device, location, 2_MiB).take();
    EXPECT_TRUE(memory.map(at + 2_MiB * page, 2_MiB, frame).is_ok());
    EXPECT_TRUE(memory.frames().destroy(frame).is_ok());
  };
  map(0, DeviceId(0), FrameLocation::kDevice);
  map(1, DeviceId(1), FrameLocation::kDevice);
  map(2, DeviceId(1), FrameLocation::kHost);
  EXPECT_EQ(memory.set_access(at, 4_MiB, DeviceId(0)).native_code(), native::kInvalidDevice);
  EXPECT_EQ(memory.mapping_at(at)->access, 0U) << "as if nothing had been asked";
  EXPECT_TRUE(memory.set_access(at, 6_MiB, DeviceId(1)).is_ok()) << "the other way there is a link";
  EXPECT_TRUE(memory.set_access(at + 4_MiB, 2_MiB, DeviceId(0)).is_ok()) << "all reach the host";
  EXPECT_TRUE(memory.unmap(at, 6_MiB).is_ok());
  EXPECT_TRUE(memory.release(at, 6_MiB).is_ok());
}

TEST_F(SimMemoryTest, BadAlignmentsAreRefused) {
  expect_violation(memory_.reserve(2_MiB, Bytes(3 << 20)).status(), "not a power of two");
  expect_violation(memory_.reserve(1_MiB, 2_MiB).status(), "granularity");
  expect_violation(memory_.reserve(0_B, 2_MiB).status(), "granularity");
  EXPECT_EQ(memory_.reserve(2_MiB, 1_GiB).value().value() % (1_GiB).value(), 0U);
}

TEST_F(SimMemoryTest, ListsLeaks) {
  map(0_B);
  EXPECT_EQ(memory_.leaks().size(), 2U) << "a frame and a range";
}

using SimMemoryDeathTest = SimMemoryTest;

TEST_F(SimMemoryDeathTest, ATouchWithoutAccessOrMappingIsARealFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto touch = [](Address address) {
    *reinterpret_cast<volatile int*>(address.value()) = 1;
    std::exit(0);
  };
  map(0_B);
  EXPECT_DEATH(touch(at_), "");
  EXPECT_DEATH(touch(at_ + 2_MiB), "");
  ASSERT_TRUE(memory_.set_access(at_, 2_MiB, kDevice).is_ok());
  EXPECT_EXIT(touch(at_), ::testing::ExitedWithCode(0), "");
  ASSERT_TRUE(memory_.unmap(at_, 2_MiB).is_ok());
  EXPECT_DEATH(touch(at_), "");
}

}  // namespace
}  // namespace tessera
