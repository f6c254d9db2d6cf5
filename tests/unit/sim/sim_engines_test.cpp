#include "sim/sim_engines.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "driver/native_codes.hpp"
#include "sim/sim_real_engines.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class SimEnginesTest : public ::testing::Test {
 protected:
  static SimWork work(std::function<Status()> run, const char* name = "work") {
    SimWork made;
    made.name = name;
    made.run = [run = std::move(run)](const SimWork&) { return run(); };
    return made;
  }
  Status submit(StreamId stream, std::function<Status()> run, SimEngine engine = SimEngine::kCompute) {
    return engines_.submit(stream, engine, work(std::move(run))).status();
  }
  // Work that runs until release() is called.
  Status block(StreamId stream, SimEngine engine = SimEngine::kCompute) {
    return submit(
        stream,
        [gate = gate_.get_future().share()] {
          gate.wait();
          return Status();
        },
        engine);
  }
  void release() { gate_.set_value(); }

  SteadyClock clock_;
  std::promise<void> gate_;
  RealEngines engines_{2, clock_};
};

TEST_F(SimEnginesTest, WorkRunsAndIsWaitedFor) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(submit(stream, [&] {
                  ++ran;
                  return Status();
                }).is_ok());
  EXPECT_TRUE(engines_.synchronize(stream).is_ok());
  EXPECT_EQ(ran.load(), 100);
}

TEST_F(SimEnginesTest, QueriesSayNotReadyWhileWorkRuns) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  const EventId event = engines_.add_event(kDevice);
  ASSERT_TRUE(block(stream).is_ok());
  ASSERT_TRUE(engines_.record(event, stream).is_ok());
  EXPECT_EQ(engines_.query(stream).code(), Code::kNotReady);
  EXPECT_EQ(engines_.query(event).native_code(), native::kNotReady);
  const Nanoseconds limit(2'000'000), start = clock_.now();
  EXPECT_EQ(engines_.synchronize(event, limit).code(), Code::kNotReady);
  EXPECT_GE(clock_.now() - start, limit);
  const EventId all = engines_.add_event(kDevice);
  ASSERT_TRUE(engines_.record_all(all).is_ok());
  EXPECT_EQ(engines_.query(all).code(), Code::kNotReady);
  EXPECT_EQ(engines_.synchronize(kDevice, limit).code(), Code::kNotReady);
  release();
  EXPECT_TRUE(engines_.synchronize(kDevice, Nanoseconds(~std::uint64_t{0} >> 2)).is_ok());
  EXPECT_TRUE(engines_.query(all).is_ok());
  EXPECT_TRUE(engines_.synchronize(event, Nanoseconds(~std::uint64_t{0} >> 2)).is_ok());
  EXPECT_TRUE(engines_.synchronize(event).is_ok());
  EXPECT_TRUE(engines_.query(event).is_ok());
}

TEST_F(SimEnginesTest, EnginesOfOneDeviceRunBesideEachOther) {
  const StreamId a = engines_.add_stream(kDevice, false);
  const StreamId b = engines_.add_stream(kDevice, false);
  ASSERT_TRUE(block(a, SimEngine::kInbound).is_ok());
  std::atomic<bool> ran{false};
  ASSERT_TRUE(submit(
                  b,
                  [&] {
                    ran = true;
                    return Status();
                  },
                  SimEngine::kOutbound)
                  .is_ok());
  EXPECT_TRUE(engines_.synchronize(b).is_ok());
  EXPECT_TRUE(ran.load());
  release();
}

TEST_F(SimEnginesTest, TheFirstFailurePoisonsTheDeviceAndDropsWhatFollows) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  const EventId event = engines_.add_event(kDevice);
  std::atomic<bool> ran{false};
  ASSERT_TRUE(block(stream).is_ok());
  ASSERT_TRUE(submit(stream, [] { return Status(Code::kDriver, "first", 700); }).is_ok());
  ASSERT_TRUE(submit(stream, [&] {
                ran = true;
                return Status();
              }).is_ok());
  ASSERT_TRUE(engines_.record(event, stream).is_ok());
  release();
  EXPECT_EQ(engines_.synchronize(kDevice).message(), "first");
  EXPECT_FALSE(ran.load());
  EXPECT_EQ(engines_.synchronize(stream).native_code(), 700);
  EXPECT_EQ(engines_.query(event).native_code(), 700);
  EXPECT_EQ(engines_.query(stream).native_code(), 700);
  EXPECT_EQ(submit(stream, [] { return Status(); }).native_code(), 700);
  EXPECT_EQ(engines_.record(event, stream).native_code(), 700);
  EXPECT_TRUE(engines_.synchronize(DeviceId(1)).is_ok()) << "the other device is well";
}

TEST_F(SimEnginesTest, WorkThatMayTouchARangeIsFoundQueuedAndRunning) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  ASSERT_TRUE(block(stream).is_ok());
  SimWork copy = work([] { return Status(); }, "copy_in");
  copy.ranges = {{0x1000, 0x1000}};
  ASSERT_TRUE(engines_.submit(stream, SimEngine::kInbound, std::move(copy)).is_ok());
  const Status status = engines_.check_untouched({0x1800, 0x10}, "unmap");
  EXPECT_EQ(status.message(), "unmap of [0x1800, 0x1810) while queued work may touch it: copy_in of [0x1000, 0x2000)");
  EXPECT_TRUE(engines_.check_untouched({0x2000, 0x10}, "unmap").is_ok());
  release();
  EXPECT_TRUE(engines_.synchronize(stream).is_ok());
  EXPECT_TRUE(engines_.check_untouched({0x1800, 0x10}, "unmap").is_ok());
}

TEST_F(SimEnginesTest, UnknownHandlesAreErrors) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  const EventId event = engines_.add_event(kDevice);
  EXPECT_EQ(engines_.record(event, StreamId(999)).code(), Code::kNotFound);
  EXPECT_EQ(engines_.record(EventId(999), stream).native_code(), native::kInvalidHandle);
  EXPECT_EQ(engines_.wait_event(stream, EventId(999)).native_code(), native::kInvalidHandle);
  EXPECT_EQ(engines_.synchronize(StreamId(999)).native_code(), native::kInvalidHandle);
  EXPECT_TRUE(engines_.remove_stream(stream).is_ok());
  EXPECT_EQ(engines_.remove_stream(stream).native_code(), native::kInvalidHandle);
  EXPECT_TRUE(engines_.remove_event(event).is_ok());
  EXPECT_EQ(engines_.remove_event(event).native_code(), native::kInvalidHandle);
}

TEST_F(SimEnginesTest, EachThreadHasADefaultStreamOfItsOwn) {
  const StreamId here = engines_.thread_stream(kDevice);
  EXPECT_EQ(engines_.thread_stream(kDevice), here);
  EXPECT_NE(engines_.thread_stream(DeviceId(1)), here);
  const StreamId there = std::async(std::launch::async, [this] { return engines_.thread_stream(kDevice); }).get();
  EXPECT_NE(there, here);
  EXPECT_TRUE(engines_.leaks().empty()) << "nobody has to destroy them";
}

TEST_F(SimEnginesTest, ElapsedTimeIsThatBetweenTheRecordedWork) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  const EventId before = engines_.add_event(kDevice);
  const EventId after = engines_.add_event(kDevice);
  EXPECT_EQ(engines_.elapsed(before, after).status().native_code(), native::kInvalidHandle);
  ASSERT_TRUE(engines_.record(before, stream).is_ok());
  ASSERT_TRUE(block(stream).is_ok());
  ASSERT_TRUE(engines_.record(after, stream).is_ok());
  EXPECT_EQ(engines_.elapsed(before, after).status().code(), Code::kNotReady);
  const Nanoseconds start = clock_.now();
  while (clock_.now() - start < Nanoseconds(1'000'000)) std::this_thread::yield();
  release();
  ASSERT_TRUE(engines_.synchronize(stream).is_ok());
  EXPECT_GE(engines_.elapsed(before, after).value(), 1'000'000);
  EXPECT_EQ(engines_.elapsed(after, before).value(), -engines_.elapsed(before, after).value());
}

TEST_F(SimEnginesTest, AQueueThatIsFullMakesTheSubmitterWait) {
  const StreamId stream = engines_.add_stream(kDevice, false);
  ASSERT_TRUE(block(stream).is_ok());
  std::atomic<int> submitted{0};
  auto submitter = std::async(std::launch::async, [&] {
    for (int i = 0; i < 20000; ++i) {
      engines_.wait_for_room(stream);
      if (!submit(stream, [] { return Status(); }).is_ok()) return false;
      ++submitted;
    }
    return true;
  });
  while (submitted.load() < 8191) std::this_thread::yield();
  EXPECT_LE(submitted.load(), 8191);
  release();
  EXPECT_TRUE(submitter.get());
  EXPECT_TRUE(engines_.synchronize(stream).is_ok());
}

}  // namespace
}  // namespace tessera
