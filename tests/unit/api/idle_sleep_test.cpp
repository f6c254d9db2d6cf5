#include "api/idle_sleep.hpp"

#include "allocator_machine.hpp"
#include "hand_clock.hpp"
#include "held_kernel.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Looks when the test says so, at the time it says.
class IdleSleepTest : public AllocatorMachine {
 protected:
  void SetUp() override { begin(small(32_MiB, 64_MiB)); }
  void begin(const Options& options) {
    idle_.reset();
    start(options);
    activity_ = std::make_unique<Activity>(allocator_->heaps(), hand_);
    hints_ = std::make_unique<Hints>(allocator_->heaps(), recorder(), allocator_->tags(), *activity_);
    idle_ = std::make_unique<IdleSleep>(allocator_->heaps(), *hints_, *activity_, hand_, Nanoseconds(10 * kSecond));
    look_at(0);
  }
  TraceRecorder& recorder() {
    recorder_ = std::make_unique<TraceRecorder>(allocator_->heaps(), *sim_, Options(), clock_);
    return *recorder_;
  }
  void look_at(std::uint64_t seconds) {
    hand_.set(seconds * kSecond);
    idle_->look();
  }
  Bytes on_device() { return Bytes(allocator_->stats().snapshot().totals.device_used); }

  HandClock hand_;
  std::unique_ptr<TraceRecorder> recorder_;
  std::unique_ptr<Activity> activity_;
  std::unique_ptr<Hints> hints_;
  std::unique_ptr<IdleSleep> idle_;
};

TEST_F(IdleSleepTest, BlocksLeaveAfterTheTimeAndComeBackWithTheirBytes) {
  const Address block = allocate(8_MiB);
  write(block, 7, 8_MiB);
  look_at(1);
  look_at(10);
  EXPECT_EQ(on_device(), 8_MiB);
  look_at(11);
  EXPECT_EQ(on_device(), Bytes());
  EXPECT_TRUE(activity_->look().asleep);
  look_at(100);
  EXPECT_EQ(activity_->look().sleeps, 1U) << "once is enough";
  EXPECT_TRUE(holds(block, 7, 8_MiB));
  look_at(101);
  EXPECT_EQ(on_device(), 8_MiB);
  look_at(111);
  EXPECT_EQ(on_device(), Bytes());
  EXPECT_EQ(activity_->look().sleeps, 2U);
}

TEST_F(IdleSleepTest, EveryUseBeginsTheTimeAnew) {
  const Address block = allocate(8_MiB);
  for (std::uint64_t second = 0; second <= 100; second += 9) {
    write(block, 7, 8_MiB);
    look_at(second);
    EXPECT_EQ(on_device(), 8_MiB);
  }
}

TEST_F(IdleSleepTest, AKernelMayRunForLonger) {
  const Address block = allocate(8_MiB);
  HeldKernel kernel;
  AnnouncedUse use;
  ASSERT_TRUE(allocator_->uses().begin({&block, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "held", use).is_ok());
  ASSERT_TRUE(kernel.launch(*sim_, StreamId()).is_ok());
  allocator_->uses().end(use);
  look_at(1);
  look_at(50);
  EXPECT_EQ(on_device(), 8_MiB);
  kernel.let_go();
  ASSERT_TRUE(sim_->synchronize(StreamId()).is_ok());
  look_at(55);
  EXPECT_EQ(on_device(), 8_MiB) << "the time runs anew from when work was seen";
  look_at(60);
  EXPECT_EQ(on_device(), Bytes());
}

TEST_F(IdleSleepTest, BlocksThatAreUsedUnseenStay) {
  allocate(8_MiB);
  ASSERT_TRUE(allocator_->heaps().set_automatic(false).is_ok());
  look_at(1);
  look_at(50);
  EXPECT_EQ(on_device(), 8_MiB);
}

TEST_F(IdleSleepTest, WhatIsPinnedStays) {
  const Address pinned = allocate(4_MiB), other = allocate(4_MiB);
  ASSERT_TRUE(allocator_->pins().pin(pinned).is_ok());
  write(other, 1, 4_MiB);
  look_at(1);
  look_at(50);
  EXPECT_EQ(on_device(), 4_MiB);
  EXPECT_TRUE(activity_->look().asleep);
  ASSERT_TRUE(allocator_->pins().unpin(pinned).is_ok());
}

TEST_F(IdleSleepTest, WithoutRoomBelowTheBlocksStayUsable) {
  begin(small(32_MiB, Bytes()));
  std::vector<Address> blocks;
  for (std::uint32_t i = 0; i < 7; ++i) {
    blocks.push_back(allocate(4_MiB));
    write(blocks.back(), i, 4_MiB);
  }
  look_at(1);
  look_at(50);
  EXPECT_FALSE(activity_->look().asleep);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
}

}  // namespace
}  // namespace tessera
