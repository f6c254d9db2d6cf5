#include "driver/sim_real_engines.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "sim_machine.hpp"

namespace tessera {
namespace {

TEST(RealEngines, WorkKeepsItsEngineBusyForItsTime) {
  SteadyClock clock;
  RealEngines engines(1, clock);
  const StreamId stream = engines.add_stream(kDevice, false);
  const Nanoseconds start = clock.now();
  for (int i = 0; i < 2; ++i) {
    SimWork work;
    work.time = Nanoseconds(5'000'000);
    ASSERT_TRUE(engines.submit(stream, SimEngine::kInbound, std::move(work)).is_ok());
  }
  EXPECT_TRUE(engines.synchronize(stream).is_ok());
  EXPECT_GE(clock.now() - start, Nanoseconds(10'000'000));
}

TEST(RealEngines, TheEndWaitsForQueuedWork) {
  SteadyClock clock;
  std::atomic<int> ran{0};
  {
    RealEngines engines(2, clock);
    const StreamId stream = engines.add_stream(DeviceId(1), false);
    for (int i = 0; i < 50; ++i) {
      SimWork work;
      work.run = [&ran](const SimWork&) {
        ++ran;
        return Status();
      };
      ASSERT_TRUE(engines.submit(stream, SimEngine::kCompute, std::move(work)).is_ok());
    }
  }
  EXPECT_EQ(ran.load(), 50);
}

}  // namespace
}  // namespace tessera
