// Engines of two programs on one device.
#include "sim/virtual_hardware.hpp"

#include <gtest/gtest.h>

#include "sim/sim_driver.hpp"
#include "sim/sim_virtual_engines.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

class VirtualHardwareTest : public ::testing::Test {
 protected:
  static void submit(VirtualEngines& program, StreamId stream, std::uint64_t time,
                     SimEngine engine = SimEngine::kCompute) {
    SimWork work;
    work.time = Nanoseconds(time);
    ASSERT_TRUE(program.submit(stream, engine, std::move(work)).is_ok());
  }
  Nanoseconds end_of(VirtualEngines& program) {
    EXPECT_TRUE(program.synchronize(kDevice).is_ok());
    return clock_.now();
  }

  VirtualClock clock_;
  VirtualHardware hardware_{1, 64_MiB, clock_};
  VirtualEngines one_{1, clock_, nullptr, 0, &hardware_}, two_{1, clock_, nullptr, 0, &hardware_};
  const StreamId a_ = one_.add_stream(kDevice, false), b_ = two_.add_stream(kDevice, false);
};

TEST_F(VirtualHardwareTest, KernelsOfOneProgramRunBesideEachOtherAndThoseOfTwoDoNot) {
  submit(one_, a_, 100);
  submit(one_, one_.add_stream(kDevice, false), 100);
  submit(two_, b_, 50);
  EXPECT_EQ(end_of(one_), Nanoseconds(100));
  EXPECT_EQ(end_of(two_), Nanoseconds(150));
}

TEST_F(VirtualHardwareTest, AProgramKeepsAnEngineForASlice) {
  for (int i = 0; i < 10; ++i) submit(one_, a_, kMs);
  for (int i = 0; i < 3; ++i) submit(two_, b_, kMs);
  EXPECT_EQ(end_of(two_), Nanoseconds(7 * kMs)) << "two of the other program's, two, two, and its third";
  EXPECT_EQ(end_of(one_), Nanoseconds(13 * kMs));
}

TEST_F(VirtualHardwareTest, AProgramWithoutWorkGivesTheEngineAway) {
  submit(one_, a_, 10, SimEngine::kInbound);
  submit(two_, b_, 10, SimEngine::kInbound);
  submit(two_, two_.add_stream(kDevice, false), 20, SimEngine::kOutbound);
  EXPECT_EQ(end_of(one_), Nanoseconds(10));
  EXPECT_EQ(end_of(two_), Nanoseconds(20));
  submit(one_, a_, 5, SimEngine::kInbound);
  EXPECT_EQ(end_of(one_), Nanoseconds(25));
}

TEST_F(VirtualHardwareTest, HostFunctionsNeedNoEngine) {
  submit(one_, a_, 30, SimEngine::kHost);
  submit(two_, b_, 30, SimEngine::kHost);
  EXPECT_EQ(end_of(two_), Nanoseconds(30));
}

TEST_F(VirtualHardwareTest, CopiesOfAnotherProgramKeepTheEngineBusy) {
  submit(two_, b_, 40, SimEngine::kOutbound);
  one_.await_idle(SimEngine::kOutbound, Nanoseconds(100));
  EXPECT_EQ(clock_.now(), Nanoseconds(40));
}

TEST_F(VirtualHardwareTest, MemoryIsTakenFromWhatAllHave) {
  SimOptions options;
  options.memory = 64_MiB;
  options.contents = SimContents::kNone;
  options.virtual_hardware = &hardware_;
  SimDriver one(options, clock_), two(options, clock_);
  const FrameId frame = one.create_frame(kDevice, FrameLocation::kDevice, 48_MiB).value();
  EXPECT_EQ(two.memory_info(kDevice).value().free, 16_MiB);
  EXPECT_EQ(two.create_frame(kDevice, FrameLocation::kDevice, 32_MiB).status().code(), Code::kOutOfMemory);
  EXPECT_TRUE(one.destroy_frame(frame).is_ok());
  const FrameId other = two.create_frame(kDevice, FrameLocation::kDevice, 32_MiB).value();
  EXPECT_EQ(one.memory_info(kDevice).value().free, 32_MiB);
  EXPECT_TRUE(two.destroy_frame(other).is_ok());
}

}  // namespace
}  // namespace tessera
