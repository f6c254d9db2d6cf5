// Frames for other processes, here both sides of one process.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_frames.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimSharing : public ::testing::Test {
 protected:
  // Both frames at once, and whether they are the same bytes.
  bool same_bytes(FrameId one, FrameId other) {
    const Address at = driver_.reserve(4_MiB, 2_MiB).take();
    EXPECT_TRUE(driver_.map(at, 2_MiB, one).is_ok());
    EXPECT_TRUE(driver_.map(at + 2_MiB, 2_MiB, other).is_ok());
    EXPECT_TRUE(driver_.set_access(at, 4_MiB, kDevice).is_ok());
    EXPECT_TRUE(driver_.fill(at, 0x5a, 2_MiB, StreamId(0)).is_ok());
    EXPECT_TRUE(driver_.synchronize(kDevice).is_ok());
    unsigned char last = 0;
    EXPECT_TRUE(driver_.copy_out(&last, at + (4_MiB - 1_B), 1_B, StreamId(0)).is_ok());
    EXPECT_TRUE(driver_.synchronize(kDevice).is_ok());
    EXPECT_TRUE(driver_.unmap(at, 4_MiB).is_ok());
    EXPECT_TRUE(driver_.release(at, 4_MiB).is_ok());
    return last == 0x5a;
  }

  static SimOptions options() {
    SimOptions options;
    options.memory = 64_MiB;
    return options;
  }

  SteadyClock clock_;
  SimDriver driver_{options(), clock_};
};

TEST_F(SimSharing, AFileOfAllMemoryHasFramesThatAreMadeLater) {
  for (const FrameLocation location : {FrameLocation::kDevice, FrameLocation::kHost}) {
    const int file = driver_.share_all(kDevice, location).take();
    const FrameId made = driver_.create_frame(kDevice, location, 2_MiB).take();
    const SimFrameInfo info = *driver_.frame(made);
    const SimPlace place{.device = kDevice, .location = location, .offset = info.offset, .bytes = info.bytes};
    const FrameId came = driver_.adopt_frame(file, place).take();
    EXPECT_EQ(driver_.frame(came)->location, location);
    EXPECT_TRUE(same_bytes(made, came));
    EXPECT_TRUE(driver_.destroy_frame(came).is_ok());
    EXPECT_TRUE(driver_.destroy_frame(made).is_ok());
    ::close(file);
  }
}

TEST_F(SimSharing, AFileOfAllMemoryIsNoFrameByItself) {
  const int file = driver_.share_all(kDevice, FrameLocation::kDevice).take();
  EXPECT_EQ(driver_.adopt_frame(file).status().native_code(), native::kInvalidHandle);
  const SimPlace beyond{.device = kDevice, .location = FrameLocation::kDevice, .offset = 256_MiB, .bytes = 2_MiB};
  EXPECT_EQ(driver_.adopt_frame(file, beyond).status().native_code(), native::kInvalidHandle);
  ::close(file);
}

TEST_F(SimSharing, AFrameOfTheHostIsOneOverThere) {
  const FrameId made = driver_.create_frame(kDevice, FrameLocation::kHost, 2_MiB).take();
  EXPECT_TRUE(driver_.make_shareable(made).is_ok());
  const int file = driver_.share_frame(made).take();
  const FrameId came = driver_.adopt_frame(file).take();
  ::close(file);
  EXPECT_EQ(driver_.frame(came)->location, FrameLocation::kHost);
  EXPECT_TRUE(same_bytes(made, came));
  EXPECT_TRUE(driver_.destroy_frame(came).is_ok());
  EXPECT_TRUE(driver_.destroy_frame(made).is_ok());
}

}  // namespace
}  // namespace tessera
