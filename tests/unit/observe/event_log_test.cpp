#include "observe/event_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include <fmt/core.h>

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
  const auto events = log.kept().events;
  ASSERT_EQ(events.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(events[i].bytes, Bytes(i));
  EXPECT_EQ(log.kept().lost, 0u);
}

TEST(EventLog, AFullLogDropsTheOldestAndCountsThem) {
  const SteadyClock clock;
  EventLog log(clock, 4);
  for (std::uint64_t i = 0; i < 11; ++i) log.record(numbered(i));
  const auto events = log.kept().events;
  ASSERT_EQ(events.size(), 4u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(events[i].bytes, Bytes(7 + i));
  EXPECT_EQ(log.kept().lost, 7u);
}

TEST(EventLog, ALogOfCapacityZeroKeepsAndLosesNone) {
  const SteadyClock clock;
  EventLog log(clock, 0);
  log.record(numbered(1));
  log.record(numbered(2), StallParts());
  EXPECT_TRUE(log.kept().events.empty());
  EXPECT_EQ(log.kept().lost, 0u);
  EXPECT_FALSE(log.history().has_value());
}

TEST(EventLog, AHistoryNeedsNoEvents) {
  HandClock clock;
  EventLog log(clock, 0, true);
  clock.set(1000);
  log.record(EventKind::kFetch, DeviceId(0), Nanoseconds(100), Address(0x1000), 2_MiB);
  EXPECT_TRUE(log.kept().events.empty());
  ASSERT_TRUE(log.history().has_value());
}

Bytes moved_in(const HistoryPicture& picture) {
  Bytes sum;
  for (const HistorySlot& slot : picture.slots) sum += slot.moved[static_cast<std::size_t>(Link::kIn)];
  return sum;
}

TEST(EventLog, APartHasWhatHappenedSinceItBegan) {
  constexpr Nanoseconds kBegin(5'000'000), kEnd(9'000'000);
  HandClock clock;
  EventLog log(clock, 4);
  log.change_place(TagId(3), Location::kNowhere, Location::kDevice, 4_MiB);
  log.change_place(TagId(3), Location::kDevice, Location::kHost, 1_MiB);
  log.record(EventKind::kFetch, DeviceId(0), Nanoseconds(0), Address(0x1000), 2_MiB);
  EXPECT_FALSE(log.part().has_value());
  clock.set(kBegin.value());
  ASSERT_TRUE(log.begin_part());
  clock.set(kEnd.value());
  log.change_place(TagId(3), Location::kHost, Location::kFile, 1_MiB);
  log.record(EventKind::kFetch, DeviceId(0), Nanoseconds(1'000'000), Address(0x1000), 8_MiB);
  log.record({EventKind::kStall, 0, Nanoseconds(0), Nanoseconds(1), Address(), Bytes()}, StallParts());
  const auto part = log.part();
  ASSERT_TRUE(part.has_value());
  EXPECT_FALSE(log.history().has_value());
  EXPECT_EQ(part->ended, kEnd - kBegin);
  EXPECT_EQ(moved_in(*part), 8_MiB) << "what was begun before ends in it";
  ASSERT_EQ(part->tags.size(), 1u);
  const auto bytes_at_first = [&](Location place) { return part->tags[0].bytes[index_of(place)].at(0); };
  EXPECT_DOUBLE_EQ(bytes_at_first(Location::kDevice), 3 << 20);
  EXPECT_DOUBLE_EQ(bytes_at_first(Location::kHost), 1 << 20);
  EXPECT_DOUBLE_EQ(bytes_at_first(Location::kFile), 0);
  log.end_part();
  EXPECT_FALSE(log.part().has_value());
}

TEST(EventLog, APartIsBesideTheHistoryOfTheRun) {
  HandClock clock;
  EventLog log(clock, 0, true);
  log.record(EventKind::kFetch, DeviceId(0), Nanoseconds(0), Address(0x1000), 2_MiB);
  ASSERT_TRUE(log.begin_part());
  log.record(EventKind::kFetch, DeviceId(0), Nanoseconds(0), Address(0x1000), 4_MiB);
  EXPECT_EQ(moved_in(*log.part()), 4_MiB);
  EXPECT_EQ(moved_in(*log.history()), 6_MiB);
  ASSERT_TRUE(log.begin_part());
  EXPECT_EQ(moved_in(*log.part()), Bytes()) << "a new part replaces the old one";
}

TEST(EventLog, WhereNothingIsKeptThereIsNoPart) {
  const SteadyClock clock;
  EventLog log(clock, 0);
  EXPECT_FALSE(log.begin_part());
  EXPECT_FALSE(log.part().has_value());
}

TEST(EventLog, AnEventEndsWhenItIsRecorded) {
  HandClock clock;
  EventLog log(clock, 4);
  clock.set(500);
  log.record(EventKind::kFetch, DeviceId(2), Nanoseconds(100), Address(0x1000), 2_MiB);
  const Event event = log.kept().events.front();
  EXPECT_EQ(event.begin, Nanoseconds(100));
  EXPECT_EQ(event.end, Nanoseconds(500));
  EXPECT_EQ(event.device, 2);
  EXPECT_EQ(event.bytes, 2_MiB);
}

class Listener final : public Profiler {
 public:
  void push(const char* name, std::uint64_t number) override { received += fmt::format("push {} {}; ", name, number); }
  void pop() override { received += "pop; "; }
  void begin_move(Link link, Address page, Bytes bytes) override {
    received += fmt::format("begin {} {:#x} {}; ", static_cast<int>(link), page.value(), bytes.value());
  }
  void end_move(Address page) override { received += fmt::format("end {:#x}; ", page.value()); }
  void mark(std::string_view kind, std::uint64_t number) override {
    received += fmt::format("mark {} {}; ", kind, number);
  }

  std::string received;
};

TEST(EventLog, AProfilerReceivesMovesAndMarksAsTheyHappen) {
  HandClock clock;
  Listener listener;
  EventLog log(clock, 4, false, &listener);
  clock.set(7);
  EXPECT_EQ(log.begin_move(Link::kOut, Address(0x1000), 2_MiB), Nanoseconds(7));
  EXPECT_EQ(listener.received, "begin 1 0x1000 2097152; ");
  log.record(EventKind::kForward, DeviceId(0), Nanoseconds(7), Address(0x1000), 2_MiB);
  log.mark("epoch", 3);
  EXPECT_EQ(log.kept().events.back().kind, EventKind::kMark);
  EXPECT_EQ(log.kept().events.back().bytes, Bytes(3));
  log.record({EventKind::kStall, 0, Nanoseconds(0), Nanoseconds(9), Address(0x1000), 2_MiB});
  EXPECT_EQ(listener.received, "begin 1 0x1000 2097152; end 0x1000; mark epoch 3; ");
}

TEST(EventLog, WithoutAProfilerAMoveBeginsAllTheSame) {
  HandClock clock;
  clock.set(7);
  const EventLog log(clock, 4);
  EXPECT_EQ(log.begin_move(Link::kIn, Address(0x1000), 2_MiB), Nanoseconds(7));
  EXPECT_EQ(log.profiler(), nullptr);
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
  EXPECT_EQ(log.kept().events.size() + log.kept().lost, 4000u);
}

}  // namespace
}  // namespace tessera
