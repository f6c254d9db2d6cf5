#include "sim/sim_schedule.hpp"

#include <gtest/gtest.h>

#include "sim_machine.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kNow{10};

class SimScheduleTest : public ::testing::Test {
 protected:
  void TearDown() override { check(); }

  void check() { EXPECT_TRUE(schedule_.validate().is_ok()) << schedule_.validate().message(); }
  StreamId stream(SimStreamKind kind = SimStreamKind::kNonBlocking) { return schedule_.add_stream(kDevice, kind); }
  SimOp compute(StreamId stream) { return schedule_.submit(stream, SimEngine::kCompute, kNow); }
  SimOp inbound(StreamId stream) { return schedule_.submit(stream, SimEngine::kInbound, kNow); }
  SimOp start(SimEngine engine) {
    check();
    return schedule_.start(kDevice, engine);
  }
  void finish(SimOp op, std::uint64_t at = 20) { schedule_.finish(op, Nanoseconds(at)); }

  static constexpr SimOp kNone{};
  SimSchedule schedule_{2};
};

TEST_F(SimScheduleTest, AStreamRunsInOrderAcrossEngines) {
  const StreamId s = stream();
  const SimOp copy = inbound(s);
  const SimOp kernel = compute(s);
  EXPECT_EQ(start(SimEngine::kCompute), kNone);
  ASSERT_EQ(start(SimEngine::kInbound), copy);
  EXPECT_EQ(start(SimEngine::kCompute), kNone) << "started is not finished";
  finish(copy);
  ASSERT_EQ(start(SimEngine::kCompute), kernel);
  finish(kernel);
  EXPECT_EQ(schedule_.unfinished(), 0U);
}

TEST_F(SimScheduleTest, StreamsDoNotWaitForEachOther) {
  const SimOp copy = inbound(stream());
  const SimOp kernel = compute(stream());
  EXPECT_EQ(start(SimEngine::kCompute), kernel);
  EXPECT_EQ(start(SimEngine::kInbound), copy);
}

TEST_F(SimScheduleTest, AnEngineTakesWhatHasBeenReadyLongest) {
  const SimOp first = compute(stream());
  const SimOp second = compute(stream());
  EXPECT_EQ(start(SimEngine::kCompute), first);
  EXPECT_EQ(start(SimEngine::kCompute), second);
}

TEST_F(SimScheduleTest, AnEventHoldsALaterStreamUntilItsWorkIsOver) {
  const StreamId producer = stream();
  const StreamId consumer = stream();
  const EventId event = schedule_.add_event(kDevice);
  const SimOp copy = inbound(producer);
  schedule_.record(event, producer, kNow);
  schedule_.wait(consumer, event, kNow);
  const SimOp kernel = compute(consumer);
  EXPECT_EQ(start(SimEngine::kCompute), kNone);
  ASSERT_EQ(start(SimEngine::kInbound), copy);
  finish(copy, 33);
  EXPECT_TRUE(schedule_.is_finished(schedule_.find(event)->op));
  EXPECT_EQ(schedule_.find(event)->finished, Nanoseconds(33));
  EXPECT_EQ(start(SimEngine::kCompute), kernel);
}

TEST_F(SimScheduleTest, AWaitRefersToTheRecordAtItsSubmission) {
  const StreamId producer = stream();
  const StreamId consumer = stream();
  const EventId event = schedule_.add_event(kDevice);
  const SimOp first = inbound(producer);
  schedule_.record(event, producer, kNow);
  schedule_.wait(consumer, event, kNow);
  inbound(producer);
  schedule_.record(event, producer, kNow);  // re-records the event; the wait is not affected
  const SimOp kernel = compute(consumer);
  ASSERT_EQ(start(SimEngine::kInbound), first);
  finish(first);
  EXPECT_EQ(start(SimEngine::kCompute), kernel);
  EXPECT_FALSE(schedule_.is_finished(schedule_.find(event)->op));
}

TEST_F(SimScheduleTest, AWaitForAFinishedOrUnrecordedEventIsNoWork) {
  const StreamId s = stream();
  const EventId event = schedule_.add_event(kDevice);
  schedule_.wait(s, event, kNow);
  schedule_.record(event, s, kNow);
  schedule_.wait(s, event, kNow);
  EXPECT_EQ(schedule_.unfinished(), 0U);
  EXPECT_EQ(schedule_.find(event)->finished, kNow) << "an idle stream's record is over at once";
}

TEST_F(SimScheduleTest, ARemovedEventStillHoldsThoseThatWait) {
  const StreamId producer = stream();
  const StreamId consumer = stream();
  const EventId event = schedule_.add_event(kDevice);
  const SimOp copy = inbound(producer);
  schedule_.record(event, producer, kNow);
  schedule_.wait(consumer, event, kNow);
  EXPECT_TRUE(schedule_.remove_event(event));
  EXPECT_FALSE(schedule_.remove_event(event));
  const SimOp kernel = compute(consumer);
  EXPECT_EQ(start(SimEngine::kCompute), kNone);
  ASSERT_EQ(start(SimEngine::kInbound), copy);
  finish(copy);
  EXPECT_EQ(start(SimEngine::kCompute), kernel);
}

TEST_F(SimScheduleTest, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  const StreamId blocking = stream(SimStreamKind::kBlocking);
  const StreamId own = stream(SimStreamKind::kThread);
  const StreamId free = stream();
  const SimOp copy = inbound(blocking);
  const SimOp legacy = compute(schedule_.legacy(kDevice));
  const SimOp after = compute(own);
  const SimOp beside = compute(free);
  EXPECT_EQ(start(SimEngine::kCompute), beside) << "a non-blocking stream does not care";
  EXPECT_EQ(start(SimEngine::kCompute), kNone);
  ASSERT_EQ(start(SimEngine::kInbound), copy);
  finish(copy);
  ASSERT_EQ(start(SimEngine::kCompute), legacy);
  EXPECT_EQ(start(SimEngine::kCompute), kNone);
  finish(legacy);
  EXPECT_EQ(start(SimEngine::kCompute), after);
}

TEST_F(SimScheduleTest, TheLegacyStreamOfOneDeviceLeavesOthersAlone) {
  const StreamId other = schedule_.add_stream(DeviceId(1), SimStreamKind::kBlocking);
  schedule_.submit(other, SimEngine::kCompute, kNow);
  const SimOp legacy = compute(schedule_.legacy(kDevice));
  EXPECT_EQ(start(SimEngine::kCompute), legacy);
  EXPECT_EQ(schedule_.ready_count(DeviceId(1), SimEngine::kCompute), 1U);
}

TEST_F(SimScheduleTest, ARemovedStreamFinishesItsWork) {
  const StreamId s = stream();
  const SimOp first = compute(s);
  const SimOp second = compute(s);
  EXPECT_TRUE(schedule_.remove_stream(s));
  EXPECT_FALSE(schedule_.remove_stream(s));
  EXPECT_EQ(schedule_.device_of(s), nullptr);
  EXPECT_EQ(schedule_.pending(kDevice), std::vector<SimOp>{second});
  ASSERT_EQ(start(SimEngine::kCompute), first);
  finish(first);
  ASSERT_EQ(start(SimEngine::kCompute), second);
  finish(second);
  EXPECT_TRUE(schedule_.pending(kDevice).empty());
}

TEST_F(SimScheduleTest, DefaultStreamsCannotBeRemoved) {
  EXPECT_FALSE(schedule_.remove_stream(schedule_.legacy(kDevice)));
  EXPECT_FALSE(schedule_.remove_stream(stream(SimStreamKind::kThread)));
}

TEST_F(SimScheduleTest, ALongChainOfMarkersEndsWithoutRecursion) {
  const StreamId s = stream();
  const EventId event = schedule_.add_event(kDevice);
  const SimOp kernel = compute(s);
  for (int i = 0; i < 100000; ++i) schedule_.record(event, s, kNow);
  ASSERT_EQ(schedule_.start(kDevice, SimEngine::kCompute), kernel);
  finish(kernel);
  EXPECT_EQ(schedule_.unfinished(), 0U);
}

}  // namespace
}  // namespace tessera
