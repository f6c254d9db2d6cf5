#include "api/activity.hpp"

#include "allocator_machine.hpp"
#include "hand_clock.hpp"

namespace tessera {
namespace {

class ActivityTest : public AllocatorMachine {
 protected:
  void SetUp() override {
    start(small(32_MiB, 64_MiB));
    activity_ = std::make_unique<Activity>(allocator_->heaps(), hand_);
  }
  Nanoseconds idle_at(std::uint64_t ns) {
    hand_.set(ns);
    return activity_->look().idle;
  }

  HandClock hand_;
  std::unique_ptr<Activity> activity_;
};

TEST_F(ActivityTest, TheTimeRunsFromTheLastUseOrAllocation) {
  EXPECT_EQ(idle_at(100), Nanoseconds(100));
  const Address block = allocate(4_MiB);
  EXPECT_EQ(idle_at(200), Nanoseconds());
  EXPECT_EQ(idle_at(250), Nanoseconds(50));
  write(block, 1, 4_MiB);
  EXPECT_EQ(idle_at(300), Nanoseconds());
  AnnouncedUse use;
  allocator_->unnamed_uses().begin(DeviceId(), StreamId(), "", use);
  allocator_->uses().end(use);
  EXPECT_EQ(idle_at(400), Nanoseconds()) << "work that names no block";
  EXPECT_EQ(idle_at(1000), Nanoseconds(600));
}

TEST_F(ActivityTest, AsleepLastsUntilTheNextUse) {
  const Address block = allocate(4_MiB);
  write(block, 1, 4_MiB);
  activity_->note_asleep(activity_->counts());
  EXPECT_TRUE(activity_->look().asleep);
  EXPECT_TRUE(holds(block, 1, 4_MiB));
  EXPECT_FALSE(activity_->look().asleep);
}

TEST_F(ActivityTest, AUseDuringTheSleepIsSeen) {
  const Address block = allocate(4_MiB);
  const Activity::Counts before = activity_->counts();
  write(block, 1, 4_MiB);
  activity_->note_asleep(before);
  EXPECT_FALSE(activity_->look().asleep);
}

TEST_F(ActivityTest, WakingAPartOfItIsNotWakingAll) {
  activity_->note_asleep(activity_->counts());
  activity_->note_awake(false);
  EXPECT_TRUE(activity_->look().asleep);
  activity_->note_awake(true);
  EXPECT_FALSE(activity_->look().asleep);
}

// As the allocator wires it.
TEST_F(ActivityTest, SleepAndWakeOfAllBlocksAreNoted) {
  const Address block = allocate(4_MiB);
  write(block, 1, 4_MiB);
  ASSERT_TRUE(allocator_->hints().sleep(nullptr).is_ok());
  EXPECT_TRUE(allocator_->activity().look().asleep);
  EXPECT_EQ(allocator_->stats().snapshot().totals.asleep, 1U);
  ASSERT_TRUE(allocator_->hints().wake(nullptr).is_ok());
  EXPECT_FALSE(allocator_->activity().look().asleep);
}

}  // namespace
}  // namespace tessera
