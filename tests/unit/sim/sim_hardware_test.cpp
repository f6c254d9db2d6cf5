#include "sim/sim_hardware.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "base/clock.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_kernel.h"

namespace tessera {
namespace {

// Another process has a part of the device, and turns are counted.
class CountedHardware final : public SimHardware {
 public:
  bool take(DeviceId, Bytes bytes) override {
    if (bytes > free_) return false;
    free_ -= bytes;
    return true;
  }
  void give(DeviceId, Bytes bytes) override { free_ += bytes; }
  Bytes free(DeviceId) override { return free_; }
  void enter(DeviceId, SimEngine engine) override { EXPECT_EQ(++inside_[static_cast<std::size_t>(engine)], 1); }
  void leave(DeviceId, SimEngine engine, bool) override {
    EXPECT_EQ(--inside_[static_cast<std::size_t>(engine)], 0);
    ++turns_[static_cast<std::size_t>(engine)];
  }
  void pause(DeviceId, SimEngine engine) override {
    EXPECT_EQ(inside_[static_cast<std::size_t>(engine)], 1);
    ++pauses_;
  }
  int turns(SimEngine engine) const { return turns_[static_cast<std::size_t>(engine)]; }
  int pauses() const { return pauses_; }

 private:
  Bytes free_ = 8_MiB;
  std::array<std::atomic<int>, kSimEngines> inside_{}, turns_{};
  std::atomic<int> pauses_{0};
};

int no_block(const sim_block*, const void*) { return 0; }

int block_that_waits(const sim_block*, const void*) {
  EXPECT_NE(SimTurn::current(), nullptr);
  const SimTurn::Outside outside;
  return 0;
}

class SimHardwareTest : public ::testing::Test {
 protected:
  SimOptions options() {
    SimOptions options;
    options.memory = 64_MiB;
    options.hardware = &hardware_;
    return options;
  }
  void launch(int (*block)(const sim_block*, const void*), std::uint32_t blocks) {
    const sim_kernel kernel{.abi_version = SIM_KERNEL_ABI_VERSION,
                            .name = "kernel",
                            .run_block = block,
                            .parameter_count = 0,
                            .parameters = nullptr,
                            .parameter_bytes = 0};
    Launch launch;
    launch.kernel = &kernel;
    launch.grid = {blocks, 1, 1};
    launch.block = {1, 1, 1};
    ASSERT_TRUE(driver_.launch(launch, StreamId()).is_ok());
    ASSERT_TRUE(driver_.synchronize(DeviceId()).is_ok());
  }

  SteadyClock clock_;
  CountedHardware hardware_;
  SimDriver driver_{options(), clock_};
};

TEST_F(SimHardwareTest, MemoryIsWhatAllProcessesHaveTogether) {
  EXPECT_EQ(driver_.memory_info(DeviceId()).value().free, 8_MiB);
  EXPECT_EQ(driver_.memory_info(DeviceId()).value().total, 64_MiB);
  EXPECT_EQ(driver_.create_frame(DeviceId(), FrameLocation::kDevice, 10_MiB).status().code(), Code::kOutOfMemory);
  const auto frame = driver_.create_frame(DeviceId(), FrameLocation::kDevice, 6_MiB);
  const auto host = driver_.create_frame(DeviceId(), FrameLocation::kHost, 32_MiB);
  ASSERT_TRUE(frame.is_ok() && host.is_ok());
  EXPECT_EQ(driver_.memory_info(DeviceId()).value().free, 2_MiB);
  EXPECT_TRUE(driver_.destroy_frame(frame.value()).is_ok());
  EXPECT_TRUE(driver_.destroy_frame(host.value()).is_ok());
  EXPECT_EQ(driver_.memory_info(DeviceId()).value().free, 8_MiB);
}

TEST_F(SimHardwareTest, AnEngineWorksInTurnsAndAHostFunctionNeedsNone) {
  launch(no_block, 3);
  EXPECT_EQ(hardware_.turns(SimEngine::kCompute), 1);
  EXPECT_EQ(hardware_.pauses(), 3) << "after each block";
  ASSERT_TRUE(driver_.host_function(StreamId(), [] { EXPECT_EQ(SimTurn::current(), nullptr); }).is_ok());
  ASSERT_TRUE(driver_.synchronize(DeviceId()).is_ok());
  EXPECT_EQ(hardware_.turns(SimEngine::kHost), 0);
}

TEST_F(SimHardwareTest, WorkThatWaitsIsOutsideOfItsTurn) {
  launch(block_that_waits, 1);
  EXPECT_EQ(hardware_.turns(SimEngine::kCompute), 2);
}

}  // namespace
}  // namespace tessera
