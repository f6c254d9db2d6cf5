// The device memory budget when others allocate from the device too.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"
#include "tier/device_tier.hpp"

namespace tessera {
namespace {

using Ask = DeviceTier::Ask;

class BudgetInForce : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  Bytes free_memory() { return machine_.driver().memory_info(DeviceId(0)).value().free; }
  // Allocates memory unknown to the tier.
  void take_elsewhere(Bytes bytes) {
    elsewhere_.push_back(machine_.driver().create_frame(DeviceId(0), FrameLocation::kDevice, bytes).value());
  }
  void free_elsewhere() {
    for (const FrameId frame : elsewhere_) ASSERT_TRUE(machine_.driver().destroy_frame(frame).is_ok());
    elsewhere_.clear();
  }
  static std::vector<Frame> take(DeviceTier& tier, std::size_t count) {
    std::vector<Frame> frames;
    while (frames.size() < count) frames.push_back(tier.take(PageClass::kBase).value());
    return frames;
  }
  static void give_back(DeviceTier& tier, std::span<const Frame> frames) {
    for (const Frame& frame : frames) tier.give_back(frame);
  }

  SimMachine machine_{SimOptions{.memory = 96_MiB}};
  std::vector<FrameId> elsewhere_;
};

TEST_F(BudgetInForce, ReachIsTheBudgetOrWhatTheDriverHasLessTheMargin) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 92_MiB, {4_MiB, 4_MiB});
  EXPECT_EQ(tier.reach().value(), 92_MiB);
  const std::vector<Frame> frames = take(tier, 5);
  EXPECT_EQ(tier.reach().value(), 92_MiB) << "what the tier holds is its own";
  tier.give_back(frames[0]);
  EXPECT_EQ(tier.reach().value(), 92_MiB);
  take_elsewhere(2_MiB);
  EXPECT_EQ(tier.reach().value(), 90_MiB) << "byte for byte";
  take_elsewhere(40_MiB);
  EXPECT_EQ(tier.reach().value(), 50_MiB);
  free_elsewhere();
  EXPECT_EQ(tier.reach().value(), 92_MiB);
  give_back(tier, std::span(frames).subspan(1));
}

TEST_F(BudgetInForce, IgnoresMemoryOutsideAGivenBudget) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 32_MiB, {3_MiB, 3_MiB});
  take_elsewhere(60_MiB);
  EXPECT_EQ(tier.reach().value(), 32_MiB);
  EXPECT_EQ(tier.usage().capacity, 32_MiB);
  free_elsewhere();
}

TEST_F(BudgetInForce, ShrinksWhenTheDriverIsOutOfMemory) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB);
  take_elsewhere(86_MiB);
  const std::vector<Frame> frames = take(tier, 5);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().capacity, 10_MiB);
  EXPECT_EQ(tier.limit(), 96_MiB);
  EXPECT_TRUE(tier.validate().is_ok());
  give_back(tier, frames);
  free_elsewhere();
}

TEST_F(BudgetInForce, ALargeFrameThatDoesNotFitLeavesRoomForSmallOnes) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB);
  take_elsewhere(80_MiB);
  EXPECT_EQ(tier.take(PageClass::kLarge).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(tier.usage().capacity, 16_MiB);
  give_back(tier, take(tier, 8));
  free_elsewhere();
}

TEST_F(BudgetInForce, StaysWhenTheDriverRefusesAvailableMemory) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 96_MiB);
  driver.fail({DriverCall::kCreateFrame, 1, Status(Code::kOutOfMemory, "injected")});
  EXPECT_FALSE(tier.take(PageClass::kBase).is_ok());
  EXPECT_EQ(tier.usage().capacity, 96_MiB);
}

TEST_F(BudgetInForce, RisesAgainWhenTheDriverHasMemory) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB);
  take_elsewhere(90_MiB);
  const std::vector<Frame> frames = take(tier, 3);
  EXPECT_FALSE(tier.take(PageClass::kBase).is_ok());
  tier.regain(Ask::kNow);
  EXPECT_EQ(tier.usage().capacity, 6_MiB) << "there is none";
  free_elsewhere();
  tier.regain(Ask::kWhenDue);
  EXPECT_EQ(tier.usage().capacity, 6_MiB) << "nothing has told of it";
  tier.expect_more();
  tier.regain(Ask::kWhenDue);
  EXPECT_EQ(tier.usage().capacity, 96_MiB);
  give_back(tier, frames);
}

TEST_F(BudgetInForce, QueriesTheDriverOnceEnoughBytesAreReturned) {
  FaultDriver driver(machine_.driver());
  DeviceTier tier(driver, DeviceId(0), 96_MiB);
  take_elsewhere(90_MiB);
  std::vector<Frame> frames = take(tier, 3);
  EXPECT_FALSE(tier.take(PageClass::kBase).is_ok());
  tier.regain(Ask::kNow);
  const std::uint64_t before = driver.calls(DriverCall::kMemoryInfo);
  for (int turn = 0; turn < 160; ++turn) {
    tier.give_back(frames.back());
    tier.regain(Ask::kWhenDue);
    frames.back() = tier.take(PageClass::kBase).value();
  }
  EXPECT_EQ(driver.calls(DriverCall::kMemoryInfo) - before, 10u) << "320 MiB were returned";
  give_back(tier, frames);
  free_elsewhere();
}

TEST_F(BudgetInForce, YieldedMemoryIsNotTakenBeforeTheEnd) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB, {Bytes(), 2_MiB});
  std::vector<Frame> frames = take(tier, 40);
  give_back(tier, std::span(frames).subspan(10));
  frames.resize(10);
  tier.begin_yield();
  tier.yield_spare();
  EXPECT_EQ(free_memory(), 76_MiB);
  EXPECT_EQ(tier.usage().capacity, 20_MiB);
  tier.regain(Ask::kNow);
  EXPECT_EQ(tier.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  take_elsewhere(60_MiB);
  tier.end_yield();
  EXPECT_EQ(tier.usage().capacity, 34_MiB) << "16 MiB are left, of which the driver keeps 2";
  free_elsewhere();
  tier.regain(Ask::kNow);
  EXPECT_EQ(tier.usage().capacity, 94_MiB) << "once it was short the driver keeps the reserve";
  EXPECT_EQ(tier.reach().value(), 96_MiB) << "programs are told the same as before";
  give_back(tier, frames);
}

TEST_F(BudgetInForce, TwoYieldsEndWithTheLast) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB);
  tier.begin_yield();
  tier.begin_yield();
  tier.yield_spare();
  tier.end_yield();
  EXPECT_EQ(tier.usage().capacity, Bytes());
  tier.end_yield();
  EXPECT_EQ(tier.usage().capacity, 96_MiB);
}

TEST_F(BudgetInForce, TrimsToTheRequestedSize) {
  DeviceTier tier(machine_.driver(), DeviceId(0), 96_MiB);
  const std::vector<Frame> frames = take(tier, 12);
  give_back(tier, std::span(frames).subspan(4));
  tier.trim_to(14_MiB);
  EXPECT_EQ(tier.usage().spare, 6_MiB);
  tier.trim_to(2_MiB);
  EXPECT_EQ(tier.usage().spare, Bytes());
  EXPECT_EQ(free_memory(), 88_MiB);
  give_back(tier, std::span(frames).first(4));
}

}  // namespace
}  // namespace tessera
