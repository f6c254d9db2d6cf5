#include "residency/streams/stopwatches.hpp"

#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "sim/fault_driver.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

// A device in virtual time: work takes exactly the given time.
class StopwatchesTest : public ::testing::Test {
 protected:
  ~StopwatchesTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  void work(std::uint64_t nanoseconds) { EXPECT_TRUE(sim_.occupy(stream_, Nanoseconds(nanoseconds), {}).is_ok()); }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  FaultDriver fault_{sim_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  Stopwatches watches_{fault_, DeviceId(0), 2};
};

TEST_F(StopwatchesTest, MeasureTheWorkBetween) {
  work(500);
  const auto watch = watches_.start(stream_);
  ASSERT_TRUE(watch);
  work(120);
  ASSERT_TRUE(watches_.stop(*watch, stream_));
  EXPECT_EQ(watches_.read(*watch).status().code(), Code::kNotReady);
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_EQ(watches_.read(*watch).take(), Nanoseconds(120));
}

TEST_F(StopwatchesTest, AreNotReadyWhileTheyRun) {
  const auto watch = watches_.start(stream_);
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_EQ(watches_.read(*watch).status().code(), Code::kNotReady);
  watches_.give_back(*watch);
}

TEST_F(StopwatchesTest, RefuseWhenAllAreInUseUntilOneIsRead) {
  const auto first = watches_.start(stream_);
  const auto second = watches_.start(stream_);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(watches_.start(stream_));
  ASSERT_TRUE(watches_.stop(*first, stream_));
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  ASSERT_TRUE(watches_.read(*first).is_ok());
  EXPECT_TRUE(watches_.start(stream_));
}

TEST_F(StopwatchesTest, ADriverErrorLeaksNoStopwatch) {
  for (const DriverCall call : {DriverCall::kCreateTimedEvent, DriverCall::kRecordEvent}) {
    fault_.fail({.call = call, .status = Status(Code::kDriver, "told to")});
    EXPECT_FALSE(watches_.start(stream_));
  }
  const auto first = watches_.start(stream_);
  ASSERT_TRUE(first);
  fault_.clear();
  fault_.fail({.call = DriverCall::kRecordEvent, .status = Status(Code::kDriver, "told to")});
  EXPECT_FALSE(watches_.stop(*first, stream_));
  EXPECT_FALSE(watches_.read(*first).is_ok());
  EXPECT_TRUE(watches_.start(stream_));
  EXPECT_TRUE(watches_.start(stream_));
}

// An error is a final result: a caller that gets it does not ask again, whatever the work does.
TEST_F(StopwatchesTest, AStopwatchThatCannotBeReadIsReturned) {
  const auto watch = watches_.start(stream_);
  ASSERT_TRUE(watch);
  work(100);
  ASSERT_TRUE(watches_.stop(*watch, stream_));
  fault_.fail({.call = DriverCall::kQueryEvent, .status = Status(Code::kDriver, "told to")});
  EXPECT_EQ(watches_.read(*watch).status().code(), Code::kDriver);
  fault_.clear();
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  const auto next = watches_.start(stream_);
  work(30);
  ASSERT_TRUE(next && watches_.stop(*next, stream_));
  ASSERT_TRUE(sim_.synchronize(stream_).is_ok());
  EXPECT_EQ(watches_.read(*next).take(), Nanoseconds(30));
}

// A caller that knows it may read it once more.
TEST_F(StopwatchesTest, AStopwatchThatCouldNotBeStoppedIsReused) {
  const auto first = watches_.start(stream_);
  fault_.fail({.call = DriverCall::kRecordEvent, .status = Status(Code::kDriver, "told to")});
  ASSERT_FALSE(watches_.stop(*first, stream_));
  const auto second = watches_.start(stream_);
  ASSERT_TRUE(second);
  EXPECT_NE(*second, *first) << "it has not been read";
  EXPECT_EQ(watches_.read(*first).status().code(), Code::kDriver);
  const auto third = watches_.start(stream_);
  ASSERT_TRUE(third);
  EXPECT_NE(*third, *second);
  EXPECT_FALSE(watches_.start(stream_));
}

}  // namespace
}  // namespace tessera
