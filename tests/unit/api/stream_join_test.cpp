#include "api/stream_join.hpp"

#include <gtest/gtest.h>

#include "held_kernel.hpp"
#include "sim/fault_driver.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class StreamJoinTest : public ::testing::Test {
 protected:
  SteadyClock clock_;
  SimDriver sim_{{}, clock_};
  FaultDriver driver_{sim_};
};

TEST_F(StreamJoinTest, IsBehindTheWorkOfEachStream) {
  const StreamId a = sim_.create_stream(DeviceId()).value();
  const StreamId b = sim_.create_stream(DeviceId()).value();
  const EventId mark = sim_.create_event(DeviceId()).value();
  {
    StreamJoin join(driver_, DeviceId());
    HeldKernel work;
    ASSERT_TRUE(work.launch(sim_, b).is_ok());
    const StreamId streams[] = {a, b};
    const StreamId behind = join.behind(streams).value();
    ASSERT_TRUE(sim_.record_event(mark, behind).is_ok());
    EXPECT_EQ(sim_.query(mark).code(), Code::kNotReady);
    work.let_go();
    EXPECT_TRUE(sim_.synchronize(mark).is_ok());
    EXPECT_EQ(join.behind(streams).value(), behind);
  }
  EXPECT_TRUE(sim_.destroy_event(mark).is_ok());
  for (StreamId stream : {a, b}) EXPECT_TRUE(sim_.destroy_stream(stream).is_ok());
  EXPECT_TRUE(sim_.leaks().empty());
}

TEST_F(StreamJoinTest, AFailureLeaksNothingAndMayBeRetried) {
  for (DriverCall call : {DriverCall::kCreateEvent, DriverCall::kCreateStream}) {
    StreamJoin join(driver_, DeviceId());
    driver_.fail({call, 1, Status(Code::kDriver, "no"), false});
    EXPECT_FALSE(join.behind({}).is_ok());
    EXPECT_TRUE(join.behind({}).is_ok());
  }
  EXPECT_TRUE(sim_.leaks().empty());
}

}  // namespace
}  // namespace tessera
