#include "sim/sim_real_engines.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/native_codes.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

Status run_something(RealEngines& engines, StreamId stream, SimEngine engine) {
  SimWork work;
  work.run = [](const SimWork&) { return Status(); };
  TESSERA_TRY(engines.submit(stream, engine, std::move(work)).status());
  return engines.synchronize(stream);
}

// Names of this process's threads with this prefix.
std::set<std::string> threads_named(const std::string& prefix) {
  std::set<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with(prefix)) found.insert(name);
  }
  return found;
}

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

// Each waits for the other: sequentially on one thread, neither would end.
TEST(RealEngines, KernelsOfDifferentStreamsRunSideBySide) {
  SteadyClock clock;
  RealEngines engines(1, clock);
  constexpr int kKernels = 5;
  std::atomic<int> began{0};
  std::vector<StreamId> streams;
  for (int i = 0; i < kKernels; ++i) {
    streams.push_back(engines.add_stream(kDevice, false));
    SimWork work;
    work.run = [&began](const SimWork&) {
      ++began;
      while (began.load() < kKernels) std::this_thread::yield();
      return Status();
    };
    ASSERT_TRUE(engines.submit(streams.back(), SimEngine::kCompute, std::move(work)).is_ok());
  }
  for (const StreamId stream : streams) EXPECT_TRUE(engines.synchronize(stream).is_ok());
}

TEST(RealEngines, KernelsThatBecomeReadyTogetherAllBegin) {
  SteadyClock clock;
  RealEngines engines(1, clock);
  const StreamId first = engines.add_stream(kDevice, false);
  const EventId event = engines.add_event(kDevice);
  std::atomic<bool> gone{false};
  for (int round = 0; round < 3; ++round) {
    gone.store(false);
    SimWork held;
    held.run = [&gone](const SimWork&) {
      while (!gone.load()) std::this_thread::yield();
      return Status();
    };
    ASSERT_TRUE(engines.submit(first, SimEngine::kCompute, std::move(held)).is_ok());
    ASSERT_TRUE(engines.record(event, first).is_ok());
    std::atomic<int> began{0};
    std::vector<StreamId> streams;
    for (int i = 0; i < 3; ++i) {
      streams.push_back(engines.add_stream(kDevice, false));
      ASSERT_TRUE(engines.wait_event(streams.back(), event).is_ok());
      SimWork work;
      work.run = [&began](const SimWork&) {
        ++began;
        while (began.load() < 3) std::this_thread::yield();
        return Status();
      };
      ASSERT_TRUE(engines.submit(streams.back(), SimEngine::kCompute, std::move(work)).is_ok());
    }
    gone.store(true);
    for (const StreamId stream : streams) EXPECT_TRUE(engines.synchronize(stream).is_ok());
  }
}

TEST(RealEngines, AFullStreamMakesItsSubmitterWaitAndNoOther) {
  SteadyClock clock;
  constexpr std::size_t kDepth = 8;
  RealEngines engines(1, clock, kDepth);
  const StreamId full = engines.add_stream(kDevice, false), other = engines.add_stream(kDevice, false);
  const EventId event = engines.add_event(kDevice);
  std::atomic<bool> gone{false};
  SimWork held;
  held.run = [&gone](const SimWork&) {
    while (!gone.load()) std::this_thread::yield();
    return Status();
  };
  ASSERT_TRUE(engines.submit(full, SimEngine::kCompute, std::move(held)).is_ok());
  std::atomic<std::size_t> queued{1};
  std::thread submitter([&] {  // a record takes a queue slot like a kernel
    for (; queued.load() < 3 * kDepth; ++queued) {
      engines.wait_for_room(full);
      EXPECT_TRUE(engines.record(event, full).is_ok());
    }
  });
  while (queued.load() < kDepth) std::this_thread::yield();
  engines.wait_for_room(other);
  EXPECT_TRUE(run_something(engines, other, SimEngine::kCompute).is_ok());
  EXPECT_EQ(queued.load(), kDepth);
  gone.store(true);
  submitter.join();
  EXPECT_TRUE(engines.synchronize(full).is_ok());
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

TEST(RealEngines, AnEngineHasAThreadFromItsFirstWorkOn) {
  SteadyClock clock;
  RealEngines engines(64, clock);
  const DeviceId device(63);
  const StreamId stream = engines.add_stream(device, false);
  EXPECT_EQ(threads_named("sim63-"), std::set<std::string>());
  ASSERT_TRUE(run_something(engines, stream, SimEngine::kCompute).is_ok());
  EXPECT_EQ(threads_named("sim63-"), std::set<std::string>{"sim63-compute"});
  ASSERT_TRUE(run_something(engines, stream, SimEngine::kPeerIn).is_ok());
  ASSERT_TRUE(run_something(engines, stream, SimEngine::kPeerOut).is_ok());
  ASSERT_TRUE(run_something(engines, stream, SimEngine::kOutbound).is_ok());
  EXPECT_EQ(threads_named("sim63-"),
            (std::set<std::string>{"sim63-compute", "sim63-outbound", "sim63-peer_in", "sim63-peer_out"}));
}

TEST(RealEngines, WithoutAThreadAnEngineRefusesItsWorkAndTheOthersGoOn) {
  SteadyClock clock;
  RealEngines engines(1, clock);
  const StreamId stream = engines.add_stream(kDevice, false);
  ASSERT_TRUE(run_something(engines, stream, SimEngine::kInbound).is_ok());
  // No address space has room for such a stack.
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const Status refused = run_something(engines, stream, SimEngine::kPeerIn);
  const Status other = run_something(engines, stream, SimEngine::kInbound);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(refused.code(), Code::kOutOfMemory);
  EXPECT_EQ(refused.native_code(), native::kOutOfMemory);
  EXPECT_NE(refused.message().find("no thread for an engine of device 0"), std::string_view::npos)
      << refused.to_string();
  EXPECT_TRUE(other.is_ok()) << other.to_string();
  EXPECT_TRUE(run_something(engines, stream, SimEngine::kPeerIn).is_ok()) << "there is room again";
  EXPECT_EQ(pthread_attr_destroy(&huge), 0);
  EXPECT_EQ(pthread_attr_destroy(&usual), 0);
}

}  // namespace
}  // namespace tessera
