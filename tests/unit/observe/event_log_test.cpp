#include "observe/event_log.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "hand_clock.hpp"

namespace tessera {
namespace {

Event numbered(std::uint64_t number) {
  return {EventKind::kMark, 0, Nanoseconds(0), Nanoseconds(0), Address(), Bytes(number)};
}

TEST(EventLog, EventsComeBackOldestFirst) {
  const SteadyClock clock;
  EventLog log(clock, 8);
  for (std::uint64_t i = 0; i < 5; ++i) log.record(numbered(i));
  const auto events = log.events();
  ASSERT_EQ(events.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(events[i].bytes, Bytes(i));
  EXPECT_EQ(log.lost(), 0u);
}

TEST(EventLog, AFullLogForgetsTheOldestAndCountsThem) {
  const SteadyClock clock;
  EventLog log(clock, 4);
  for (std::uint64_t i = 0; i < 11; ++i) log.record(numbered(i));
  const auto events = log.events();
  ASSERT_EQ(events.size(), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(events[i].bytes, Bytes(7 + i));
  EXPECT_EQ(log.lost(), 7u);
}

TEST(EventLog, AnEventEndsWhenItIsRecorded) {
  HandClock clock;
  EventLog log(clock, 4);
  clock.set(500);
  log.record(EventKind::kFetch, DeviceId(2), Nanoseconds(100), Address(0x1000), 2_MiB);
  const Event event = log.events().front();
  EXPECT_EQ(event.begin, Nanoseconds(100));
  EXPECT_EQ(event.end, Nanoseconds(500));
  EXPECT_EQ(event.device, 2);
  EXPECT_EQ(event.bytes, 2_MiB);
}

TEST(EventLog, ThreadsRecordTogether) {
  const SteadyClock clock;
  EventLog log(clock, 100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) log.record(numbered(1));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(log.events().size() + log.lost(), 4000u);
}

}  // namespace
}  // namespace tessera
