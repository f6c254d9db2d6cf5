#include "sim/sim_virtual_engines.hpp"

#include <gtest/gtest.h>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class VirtualEnginesTest : public ::testing::Test {
 protected:
  void submit(StreamId stream, std::uint64_t nanoseconds, SimEngine engine = SimEngine::kCompute) {
    SimWork work;
    work.time = Nanoseconds(nanoseconds);
    ASSERT_TRUE(engines_.submit(stream, engine, std::move(work)).is_ok());
  }
  StreamId stream() { return engines_.add_stream(kDevice, false); }

  VirtualClock clock_;
  VirtualEngines engines_{2, clock_};
};

TEST_F(VirtualEnginesTest, TimeAdvancesOnlyDuringWaits) {
  const StreamId a = stream();
  submit(a, 100);
  submit(a, 20);
  EXPECT_EQ(clock_.now(), Nanoseconds(0));
  EXPECT_EQ(engines_.query(a).code(), Code::kNotReady);
  EXPECT_TRUE(engines_.synchronize(a).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(120));
  EXPECT_TRUE(engines_.query(a).is_ok());
}

TEST_F(VirtualEnginesTest, KernelsOfTwoStreamsRunBesideEachOtherAndCopiesOneByOne) {
  const StreamId a = stream(), b = stream();
  submit(a, 100);
  submit(b, 100);
  EXPECT_TRUE(engines_.synchronize(kDevice).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(100));
  submit(a, 10, SimEngine::kInbound);
  submit(b, 10, SimEngine::kInbound);
  submit(stream(), 15, SimEngine::kOutbound);
  EXPECT_TRUE(engines_.synchronize(kDevice).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(120));
}

TEST_F(VirtualEnginesTest, PeerCopiesOverlapHostCopiesAndRunInOrderInEachDirection) {
  submit(stream(), 15, SimEngine::kPeerIn);
  submit(stream(), 15, SimEngine::kPeerIn);
  submit(stream(), 25, SimEngine::kPeerOut);
  submit(stream(), 12, SimEngine::kInbound);
  submit(stream(), 13, SimEngine::kOutbound);
  EXPECT_TRUE(engines_.synchronize(kDevice).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(30));
  submit(stream(), 10, SimEngine::kPeerOut);
  submit(stream(), 10, SimEngine::kPeerOut);
  submit(stream(), 15, SimEngine::kPeerIn);
  EXPECT_TRUE(engines_.synchronize(kDevice).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(50));
}

TEST_F(VirtualEnginesTest, EventsOrderStreamsAndTellTheTimeBetween) {
  const StreamId a = stream(), b = stream();
  const EventId begin = engines_.add_event(kDevice), end = engines_.add_event(kDevice);
  submit(a, 50);
  ASSERT_TRUE(engines_.record(begin, a).is_ok());
  ASSERT_TRUE(engines_.wait_event(b, begin).is_ok());
  submit(b, 30);
  ASSERT_TRUE(engines_.record(end, b).is_ok());
  EXPECT_TRUE(engines_.synchronize(end).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(80));
  EXPECT_EQ(engines_.elapsed(begin, end).value(), 30);
}

TEST_F(VirtualEnginesTest, WaitingForOneEventLeavesLaterWorkUnfinished) {
  const StreamId a = stream(), b = stream();
  const EventId early = engines_.add_event(kDevice);
  submit(a, 10);
  ASSERT_TRUE(engines_.record(early, a).is_ok());
  submit(a, 1000);
  submit(b, 40);
  EXPECT_TRUE(engines_.synchronize(early).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(10));
  EXPECT_EQ(engines_.query(b).code(), Code::kNotReady);
  EXPECT_TRUE(engines_.synchronize(b).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(40));
}

TEST_F(VirtualEnginesTest, AFailureIsReportedWhenItsWorkEndsAndPoisonsTheDevice) {
  const StreamId a = stream();
  SimWork work;
  work.time = Nanoseconds(5);
  work.run = [](const SimWork&) { return Status(Code::kDriver, "a fault", native::kIllegalAddress); };
  ASSERT_TRUE(engines_.submit(a, SimEngine::kCompute, std::move(work)).is_ok());
  EXPECT_EQ(engines_.query(a).code(), Code::kNotReady);
  EXPECT_EQ(engines_.synchronize(a).native_code(), native::kIllegalAddress);
  EXPECT_EQ(engines_.query(a).native_code(), native::kIllegalAddress);
}

TEST_F(VirtualEnginesTest, AWaitWithABoundEndsThereOrWithTheWork) {
  const StreamId a = stream();
  const EventId event = engines_.add_event(kDevice);
  submit(a, 1000);
  ASSERT_TRUE(engines_.record(event, a).is_ok());
  EXPECT_EQ(engines_.synchronize(event, Nanoseconds(300)).code(), Code::kNotReady);
  EXPECT_EQ(clock_.now(), Nanoseconds(300));
  EXPECT_TRUE(engines_.synchronize(event, Nanoseconds(5000)).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(1000));
}

TEST_F(VirtualEnginesTest, AFullQueueLetsTimePass) {
  const StreamId a = stream();
  for (int i = 0; i < 20000; ++i) {
    engines_.wait_for_room(a);
    submit(a, 1);
  }
  EXPECT_GT(clock_.now(), Nanoseconds(10000));
  EXPECT_LT(clock_.now(), Nanoseconds(20000));
  EXPECT_TRUE(engines_.synchronize(a).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(20000));
}

}  // namespace
}  // namespace tessera
