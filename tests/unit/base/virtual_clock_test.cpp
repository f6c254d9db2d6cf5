#include "base/virtual_clock.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/link_speed.hpp"

namespace tessera {
namespace {

TEST(VirtualClock, AdvancesOnlyWhenStepped) {
  VirtualClock clock;
  clock.schedule(Nanoseconds(10), [] {});
  EXPECT_EQ(clock.now(), Nanoseconds(0));
  EXPECT_TRUE(clock.step());
  EXPECT_EQ(clock.now(), Nanoseconds(10));
  EXPECT_FALSE(clock.step());
  EXPECT_EQ(clock.now(), Nanoseconds(10));
}

TEST(VirtualClock, ActionsHappenInOrderOfTimeAndThenOfAsking) {
  VirtualClock clock;
  std::vector<int> seen;
  for (const auto& [at, name] : {std::pair{5, 1}, {3, 2}, {5, 3}, {1, 4}, {3, 5}}) {
    clock.schedule(Nanoseconds(static_cast<std::uint64_t>(at)), [&seen, name = name] { seen.push_back(name); });
  }
  while (clock.step()) continue;
  EXPECT_EQ(seen, (std::vector<int>{4, 2, 5, 1, 3}));
}

TEST(VirtualClock, AnActionMayAskForMoreAndThePastIsNow) {
  VirtualClock clock;
  std::vector<std::uint64_t> seen;
  clock.schedule(Nanoseconds(7), [&] {
    clock.schedule(Nanoseconds(2), [&] { seen.push_back(clock.now().value()); });
    clock.schedule(Nanoseconds(9), [&] { seen.push_back(clock.now().value()); });
  });
  while (clock.step()) continue;
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{7, 9}));
}

TEST(VirtualClock, RunsUntilATimeAndStops) {
  VirtualClock clock;
  int happened = 0;
  clock.schedule(Nanoseconds(4), [&] { ++happened; });
  clock.schedule(Nanoseconds(6), [&] { ++happened; });
  clock.run_until(Nanoseconds(5));
  EXPECT_EQ(happened, 1);
  EXPECT_EQ(clock.now(), Nanoseconds(5));
  clock.run_until(Nanoseconds(2));
  EXPECT_EQ(clock.now(), Nanoseconds(5));
}

TEST(VirtualClock, SaysWhetherAnActionRuns) {
  VirtualClock clock;
  bool seen = false;
  clock.schedule(Nanoseconds(4), [&] { seen = clock.is_acting(); });
  EXPECT_FALSE(clock.is_acting());
  EXPECT_TRUE(clock.step());
  EXPECT_TRUE(seen);
  EXPECT_FALSE(clock.is_acting());
}

TEST(LinkSpeed, TimeIsLatencyAndBytesRoundedUp) {
  EXPECT_EQ(LinkSpeed{}.time_for(1_TiB), Nanoseconds(0));
  const LinkSpeed link{.bytes_per_second = 3'000'000'000, .latency = Nanoseconds(100)};
  EXPECT_EQ(link.time_for(Bytes(0)), Nanoseconds(100));
  EXPECT_EQ(link.time_for(Bytes(1)), Nanoseconds(101));
  EXPECT_EQ(link.time_for(Bytes(3)), Nanoseconds(101));
  EXPECT_EQ(link.time_for(Bytes(300'000'000'000'000)), Nanoseconds(100'000'000'000'100));
}

}  // namespace
}  // namespace tessera
