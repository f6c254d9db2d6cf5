#include "residency/streams/stall.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "hand_clock.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

StallPart part(const StallParts& parts, StallCause cause) { return parts[static_cast<std::size_t>(cause)]; }

TEST(Stall, ChargesEachWaitToItsCauseAndTheRestToMapping) {
  HandClock clock(100);
  const EventLog log(clock, 4);
  Stall stall(log);
  stall.go_on();
  EXPECT_FALSE(stall.has_waited());
  clock.set(110);
  {
    const StallWait waiting(&stall, StallCause::kWork);
    clock.set(130);
  }
  {
    const StallWait waiting(&stall, StallCause::kCopyOut);
    clock.set(180);
  }
  clock.set(185);
  ASSERT_TRUE(stall.has_waited());
  EXPECT_EQ(stall.main_cause(), StallCause::kCopyOut);
  const StallParts parts = stall.parts(clock.now());
  EXPECT_EQ(part(parts, StallCause::kWork).time, Nanoseconds(20));
  EXPECT_EQ(part(parts, StallCause::kCopyOut).time, Nanoseconds(50));
  EXPECT_EQ(part(parts, StallCause::kMapping).time, Nanoseconds(15));
  EXPECT_EQ(part(parts, StallCause::kCopyOut).stalls, 1U);
  EXPECT_EQ(part(parts, StallCause::kWork).stalls, 0U);
}

TEST(Stall, YieldingToOthersIsAWait) {
  HandClock clock(0);
  const EventLog log(clock, 4);
  Stall stall(log);
  stall.go_on();
  clock.set(5);
  stall.step_aside();
  clock.set(25);
  stall.go_on();
  EXPECT_EQ(stall.begin(), Nanoseconds(0));
  const StallParts parts = stall.parts(Nanoseconds(30));
  EXPECT_EQ(part(parts, StallCause::kOtherCalls).time, Nanoseconds(20));
  EXPECT_EQ(part(parts, StallCause::kMapping).time, Nanoseconds(10));
}

TEST(Stall, AWaitThatTookNoTimeIsOneToo) {
  const HandClock clock(7);
  const EventLog log(clock, 4);
  Stall stall(log);
  stall.go_on();
  { const StallWait waiting(&stall, StallCause::kFileRead); }
  EXPECT_EQ(stall.main_cause(), StallCause::kFileRead);
}

TEST(Stall, AWaitWithoutAStallIsNotTimed) {
  { const StallWait waiting(nullptr, StallCause::kWork); }
}

TEST(Stall, EveryCauseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kStallCauses; ++i) names.insert(name_of(static_cast<StallCause>(i)));
  EXPECT_EQ(names.size(), kStallCauses);
}

TEST(Stall, OnlyCallsOfTheProgramStall) {
  ResidencyMachine machine({.device = 8_MiB});
  const auto runs = machine.add_many(4);
  for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
  for (auto* run : runs) ASSERT_OK(machine.evict(run));  // explicit eviction, which waits
  EXPECT_EQ(machine.residency().figures().stats().stalls, 0U);
  ASSERT_OK(machine.touch(runs, Access::kRead, kNoStream));
  const ResidencyStats stats = machine.residency().figures().stats();
  EXPECT_EQ(stats.stalls, 1U);
  EXPECT_EQ(part(stats.stall_parts, StallCause::kCopyIn).stalls, 1U);
}

TEST(Stall, NamesTheFetchedBlock) {
  ResidencyMachine machine;
  auto* there = machine.add();
  auto* away = machine.add();
  ASSERT_OK(machine.write(there, 1));
  ASSERT_OK(machine.write(away, 1));
  ASSERT_OK(machine.evict(away));
  ASSERT_OK(machine.touch({there, away}, Access::kRead, kNoStream));
  const Event last = machine.log().kept().events.back();
  ASSERT_EQ(last.kind, EventKind::kStall);
  EXPECT_EQ(last.address, away->address);
  EXPECT_EQ(last.cause, StallCause::kCopyIn);
}

}  // namespace
}  // namespace tessera
