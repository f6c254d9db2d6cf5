#include "lab/replay/host_waits.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "hand_clock.hpp"

namespace tessera {
namespace {

using WaitTuple = std::tuple<StallCause, std::uint64_t, std::uint64_t>;

std::vector<WaitTuple> tuples_of(const HostWaits& waits) {
  std::vector<WaitTuple> all;
  for (const HostWait& wait : waits.kept()) all.emplace_back(wait.cause, wait.begin.value(), wait.end.value());
  return all;
}

TEST(HostWaits, AWaitInsideAnotherCountsForItself) {
  HandClock clock(100);
  HostWaits waits(clock);
  waits.keep();
  {
    const ProfilerRange call(&waits, "bring in");
    clock.set(110);
    const ProfilerRange outer(&waits, "work");
    clock.set(120);
    {
      const ProfilerRange inner(&waits, "copy_out");
      clock.set(150);
    }
    clock.set(155);
  }
  clock.set(200);
  EXPECT_EQ(tuples_of(waits),
            (std::vector<WaitTuple>{
                {StallCause::kWork, 110, 120}, {StallCause::kCopyOut, 120, 150}, {StallCause::kWork, 150, 155}}));
}

TEST(HostWaits, KeepsOnlyNewerWaits) {
  HandClock clock(0);
  HostWaits waits(clock);
  const ProfilerRange before(&waits, "copy_in");
  clock.set(10);
  { const ProfilerRange none(&waits, "file_read"); }
  EXPECT_TRUE(waits.kept().empty());
  clock.set(12);
  waits.keep();
  clock.set(15);
  { const ProfilerRange none(&waits, "file_read"); }
  EXPECT_EQ(tuples_of(waits), (std::vector<WaitTuple>{{StallCause::kCopyIn, 12, 15}}));
  waits.keep();
  EXPECT_TRUE(waits.kept().empty());
}

TEST(HostWaits, EveryCauseOfTheEngineIsKnown) {
  HandClock clock(0);
  HostWaits waits(clock);
  waits.keep();
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    const ProfilerRange wait(&waits, name_of(static_cast<StallCause>(i)));
    clock.set(i + 1);
  }
  ASSERT_EQ(waits.kept().size(), kStallCauses);
  for (std::size_t i = 0; i < kStallCauses; ++i) EXPECT_EQ(waits.kept()[i].cause, static_cast<StallCause>(i));
}

}  // namespace
}  // namespace tessera
