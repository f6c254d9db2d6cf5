#include "residency/streams/work_progress.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr Nanoseconds kLong(1000);

class WorkProgressTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBoth = 0b11;
  WorkProgress progress_;
};

TEST_F(WorkProgressTest, AWaitWithoutNewsAddsToTheQuietOfItsSlots) {
  progress_.note_waited(0b01, progress_.ended(0b01), kLong);
  progress_.note_waited(kBoth, progress_.ended(kBoth), kLong);
  EXPECT_EQ(progress_.quiet(0), kLong * 2);
  EXPECT_EQ(progress_.quiet(1), kLong);
}

TEST_F(WorkProgressTest, NewsOfOneSlotEndTheQuietOfAllThatWereWaitedFor) {
  const std::uint64_t before = progress_.ended(kBoth);
  progress_.note_waited(kBoth, before, kLong);
  progress_.note_ended(1, 2);
  EXPECT_EQ(progress_.ended(kBoth), before + 2);
  EXPECT_EQ(progress_.quiet(1), Nanoseconds());
  EXPECT_EQ(progress_.quiet(0), kLong) << "it may be what others wait for";
  progress_.note_waited(kBoth, before, kLong);
  EXPECT_EQ(progress_.quiet(0), Nanoseconds());
}

}  // namespace
}  // namespace tessera
