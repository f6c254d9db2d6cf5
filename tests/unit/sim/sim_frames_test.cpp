#include "sim/sim_frames.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimFramesTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(frames_.validate().is_ok()); }

  FrameId create(Bytes bytes = 2_MiB, FrameLocation location = FrameLocation::kDevice) {
    return frames_.create(kDevice, location, bytes).take();
  }
  Bytes free() const { return frames_.info(kDevice).free; }

  SimFrames frames_{SimOptions{.memory = 8_MiB, .host_memory = 4_MiB}};
};

TEST_F(SimFramesTest, DeviceAndHostFramesHaveTheirOwnCapacity) {
  create(8_MiB);
  EXPECT_EQ(free(), 0_B);
  create(4_MiB, FrameLocation::kHost);
  EXPECT_EQ(frames_.create(kDevice, FrameLocation::kHost, 2_MiB).status().code(), Code::kOutOfMemory);
}

TEST_F(SimFramesTest, TheLastOwnerReleasesTheMemory) {
  const FrameId frame = create();
  ASSERT_TRUE(frames_.retain(frame).is_ok());
  EXPECT_TRUE(frames_.destroy(frame).is_ok());
  EXPECT_EQ(free(), 6_MiB);
  EXPECT_TRUE(frames_.destroy(frame).is_ok());
  EXPECT_EQ(free(), 8_MiB);
}

// Created by another machine, as in another process; its bytes count on the machine that created it.
TEST_F(SimFramesTest, AFrameIsAdoptedByAFile) {
  create();
  const FrameId frame = create(4_MiB);
  EXPECT_EQ(frames_.share(frame).status().native_code(), native::kInvalidValue);
  ASSERT_TRUE(frames_.make_shareable(frame).is_ok());
  const int file = frames_.share(frame).take();
  SimFrames others{SimOptions{.memory = 8_MiB, .host_memory = 4_MiB}};
  const FrameId adopted = others.adopt(file).take();
  ::close(file);
  EXPECT_EQ(others.find(adopted)->bytes, 4_MiB);
  EXPECT_EQ(others.info(kDevice).free, 8_MiB);
  EXPECT_FALSE(others.share(adopted).is_ok()) << "who made it shares it";
  const std::size_t bytes = 4 << 20;
  void* const here = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(here, MAP_FAILED);
  char* const there = static_cast<char*>(here) + bytes;
  ASSERT_TRUE(frames_.show(*frames_.find(frame), here));
  ASSERT_TRUE(others.show(*others.find(adopted), there));
  std::memset(here, 7, bytes);
  EXPECT_EQ(there[bytes - 1], 7);
  ASSERT_TRUE(frames_.hide(*frames_.find(frame), here));
  EXPECT_TRUE(others.destroy(adopted).is_ok());
  EXPECT_TRUE(others.validate().is_ok());
  ::munmap(here, 2 * bytes);
}

TEST_F(SimFramesTest, AFileOfAnotherKindIsNotAdopted) {
  const int file = ::memfd_create("other", MFD_CLOEXEC);
  EXPECT_EQ(frames_.adopt(file).status().native_code(), native::kInvalidHandle);
  EXPECT_EQ(frames_.adopt(-1).status().native_code(), native::kInvalidHandle);
  ::close(file);
}

TEST_F(SimFramesTest, DestroyingTwiceIsAnErrorThatNamesTheFrame) {
  const FrameId frame = create();
  ASSERT_TRUE(frames_.destroy(frame).is_ok());
  const Status status = frames_.destroy(frame);
  EXPECT_EQ(status.native_code(), native::kInvalidHandle);
  EXPECT_EQ(status.message(), "destroy of frame 0x10, which does not exist");
}

TEST_F(SimFramesTest, AMappedFrameOutlivesItsOwner) {
  const FrameId frame = create();
  frames_.add_mapping(*frames_.find(frame));
  ASSERT_TRUE(frames_.destroy(frame).is_ok());
  EXPECT_FALSE(frames_.destroy(frame).is_ok()) << "nobody owns it any more";
  EXPECT_EQ(free(), 6_MiB);
  ASSERT_TRUE(frames_.retain(frame).is_ok()) << "its address still names it";
  frames_.remove_mapping(*frames_.find(frame));
  EXPECT_EQ(free(), 6_MiB);
  ASSERT_TRUE(frames_.destroy(frame).is_ok());
  EXPECT_EQ(free(), 8_MiB);
}

TEST_F(SimFramesTest, ListsLeaks) {
  create();
  ASSERT_EQ(frames_.leaks().size(), 1U);
  EXPECT_EQ(frames_.leaks()[0], "frame 0x10 of 2097152 bytes (1 owners, 0 mappings)");
}

}  // namespace
}  // namespace tessera
