// Fetching: runs that fit and that do not, from every tier, and ahead of need.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(Fetcher, AWorkingSetLargerThanTheDeviceIsAClearError) {
  ResidencyMachine machine({.device = 8_MiB});
  auto runs = machine.add_many(5);
  const Status status = machine.touch(runs);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("10 MiB"), std::string_view::npos) << status.to_string();
  runs.pop_back();
  EXPECT_OK(machine.touch(runs));
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(Fetcher, AWorkingSetBesidePinnedRunsIsCountedWithThem) {
  ResidencyMachine machine({.device = 8_MiB});
  ASSERT_OK(machine.residency().pins().pin(machine.add({0, 2})));
  const Status status = machine.touch(machine.add_many(3));
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("4 MiB are pinned"), std::string_view::npos) << status.to_string();
}

TEST(Fetcher, PrefetchedPagesAreResidentAtTheirUse) {
  ResidencyMachine machine({.host = 2_MiB, .file = 32_MiB});
  auto* run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  ASSERT_GT(machine.residency().figures().whereabouts(*run)[3], Bytes());
  ASSERT_OK(machine.prefetch(run));
  for (int i = 0; i < 50 && run->missing.load() != 0; ++i) {
    ASSERT_OK(machine.settle());
    ASSERT_OK(machine.prefetch(run));  // as far as there was room
  }
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(machine.residency().figures().stats().late_fetches, 0U);
  EXPECT_OK(machine.check(run, 1));
}

TEST(Fetcher, APrefetchEvictsNothing) {
  ResidencyMachine machine({.device = 8_MiB, .options = {.low_percent = 0, .high_percent = 0}});
  auto* cold = machine.add();
  ASSERT_OK(machine.write(cold, 1));
  ASSERT_OK(machine.evict(cold));
  for (auto* run : machine.add_many(4)) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  const std::uint64_t evictions = machine.residency().figures().stats().evictions;
  ASSERT_OK(machine.prefetch(cold));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.residency().figures().stats().evictions, evictions);
  EXPECT_EQ(cold->missing.load(), 1U);
}

TEST(Fetcher, CorruptBytesAreAnErrorOfTheirRunAlone) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  const auto runs = machine.add_many(4);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_OK(machine.write(runs[i], i));
  ASSERT_OK(machine.evict(runs[0]));
  ASSERT_OK(machine.settle());
  machine.file().corrupt();
  EXPECT_EQ(machine.touch({runs[0]}).code(), Code::kDataLoss);
  EXPECT_EQ(machine.touch({runs[0]}).code(), Code::kDataLoss) << "it stays lost";
  EXPECT_EQ(machine.touch({runs[3], runs[0]}).code(), Code::kDataLoss);
  EXPECT_EQ(machine.valid(), "ok");
  ASSERT_OK(machine.write(runs[3], 3));
  EXPECT_OK(machine.check(runs[3], 3));
  ASSERT_OK(machine.residency().ensure(runs[0], kNoStream, Contents::kUndefined));
  ASSERT_OK(machine.write(runs[0], 9));
  EXPECT_OK(machine.check(runs[0], 9));  // a new block does not inherit the loss
}

TEST(Fetcher, AFailedReadCanBeTriedAgain) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  auto* run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  machine.file().set_read_outcome(Status(Code::kIo, "bad cable"));
  EXPECT_EQ(machine.touch({run}).code(), Code::kIo);
  EXPECT_EQ(machine.touch({run}).code(), Code::kIo);
  EXPECT_EQ(machine.valid(), "ok");
  machine.file().set_read_outcome({});
  EXPECT_OK(machine.check(run, 1));
}

TEST(Fetcher, AFailedPrefetchIsNoErrorUntilTheUse) {
  ResidencyMachine machine({.device = 4_MiB, .host = 0_B, .file = 32_MiB});
  auto* run = machine.add();
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  machine.file().set_read_outcome(Status(Code::kIo, "bad cable"));
  EXPECT_OK(machine.prefetch(run));
  EXPECT_OK(machine.settle());
  machine.file().set_read_outcome({});
  EXPECT_OK(machine.check(run, 1));
}

TEST(Fetcher, ADriverOutOfMemoryBelowTheBudgetIsHelpedByEviction) {
  // The device has less than the budget: the rest is allocated elsewhere.
  ResidencyMachine machine({.device = 32_MiB, .sim = {.memory = 12_MiB}});
  const auto runs = machine.add_many(10);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.check(runs[i], i));
}

TEST(Fetcher, ARunBeingFetchedMaySpillToTheFileAfterADriverOutOfMemory) {
  // The large page fills host memory; runs evicted to help the driver push it on to the file.
  ResidencyMachine machine(
      {.device = 96_MiB, .host = 32_MiB, .staging = 2_MiB, .file = 256_MiB, .sim = {.memory = 40_MiB}});
  auto* const large = machine.add({1, 0});
  ASSERT_OK(machine.write(large, 1));
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.evict(large));
  ASSERT_OK(machine.settle());
  machine.tiers().device.trim();
  const auto small = machine.add_many(20);
  for (std::uint64_t i = 0; i < small.size(); ++i) ASSERT_OK(machine.write(small[i], i));
  ASSERT_OK(machine.settle());
  EXPECT_OK(machine.touch({large}));
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_OK(machine.check(large, 1));
  for (std::uint64_t i = 0; i < small.size(); ++i) EXPECT_OK(machine.check(small[i], i));
}

}  // namespace
}  // namespace tessera
