// Runs that are moved to another address: frames and copies go along, and a failure leaves the run where it was.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;

class Rehome : public ::testing::Test {
 protected:
  explicit Rehome(const ResidencySetup& setup = {.device = 16_MiB, .host = 32_MiB}) : machine_(setup) {}

  // Moves it to other addresses of its size.
  Status rehome(AnyRun* run) { return machine_.residency().runs().rehome(run, machine_.reserve(run->shape)); }
  // Compares with what was written when the run was at `before`: the pattern depends on the address.
  Status check(AnyRun* run, Address before, std::uint64_t generation) {
    return machine_.check(run, before.value() + generation - run->address.value());
  }

  ResidencyMachine machine_;
};

TEST_F(Rehome, WhatIsOnTheDeviceIsMappedThereWithoutACopy) {
  AnyRun* const run = machine_.add({0, 3});
  const Address before = run->address;
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(rehome(run));
  EXPECT_NE(run->address, before);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_OK(check(run, before, 1));
  EXPECT_OK(machine_.settle());
  const ResidencyStats stats = machine_.residency().figures().stats();
  EXPECT_EQ(stats.bytes_out + stats.bytes_in, Bytes());
  EXPECT_EQ(machine_.tiers().device.usage().used, 6_MiB);
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(Rehome, WhatIsAwayIsFetchedToTheNewAddress) {
  AnyRun* const run = machine_.add({0, 2});
  const Address before = run->address;
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(rehome(run));
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_OK(check(run, before, 1));
  EXPECT_OK(machine_.settle());
}

TEST_F(Rehome, ARunWithoutFramesNeedsNoCallOfTheDriver) {
  AnyRun* const run = machine_.add({0, 2});
  const Address to = machine_.reserve(run->shape);
  const std::uint64_t maps = machine_.fault().calls(DriverCall::kMap);
  ASSERT_OK(machine_.residency().runs().rehome(run, to));
  EXPECT_EQ(machine_.fault().calls(DriverCall::kMap), maps);
  EXPECT_OK(machine_.write(run, 1));
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(Rehome, WaitsForWorkThatUsesTheRun) {
  AnyRun* const run = machine_.add({0, 1});
  const Address before = run->address;
  const StreamId stream = machine_.stream();
  for (std::uint64_t i = 1; i <= 50; ++i) ASSERT_OK(machine_.write(run, i, stream));
  ASSERT_OK(rehome(run));
  EXPECT_OK(check(run, before, 50));
  EXPECT_OK(machine_.settle());
}

TEST_F(Rehome, ARunInABlockingUseStaysWhereItIs) {
  AnyRun* run = machine_.add();
  const Address before = run->address;
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&run, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(rehome(run).code(), Code::kBusy);
  machine_.residency().end_use({&run, 1}, kNoStream, use);
  EXPECT_EQ(run->address, before);
  EXPECT_OK(rehome(run));
}

TEST_F(Rehome, APinEndsWithTheAddress) {
  AnyRun* const run = machine_.add({0, 1});
  ASSERT_OK(machine_.residency().pins().pin(run, "a call that keeps the address"));
  ASSERT_OK(rehome(run));
  EXPECT_EQ(machine_.residency().figures().pinned_bytes(), Bytes());
  EXPECT_OK(machine_.evict(run));
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(Rehome, WhereTheDriverRefusesTheRunStaysWithItsBytes) {
  AnyRun* const run = machine_.add({0, 3});
  const Address before = run->address;
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  machine_.fault().fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999), false});
  EXPECT_EQ(rehome(run).code(), Code::kDriver);
  EXPECT_EQ(run->address, before);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.settle());
}

TEST_F(Rehome, WhatCannotBeMappedIsMappedByTheNextUse) {
  AnyRun* const run = machine_.add({0, 3});
  const Address before = run->address;
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.settle());
  const Address to = machine_.reserve(run->shape);
  machine_.fault().fail({DriverCall::kMap, 2, Status(Code::kDriver, "injected", 999), false});
  EXPECT_OK(machine_.residency().runs().rehome(run, to));
  EXPECT_EQ(run->address, to);
  EXPECT_EQ(run->missing.load(), 3U);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(check(run, before, 1));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_OK(machine_.settle());
}

class RehomeRow : public Rehome {
 protected:
  RehomeRow() : Rehome({.device = 320_MiB, .host = 512_MiB, .staging = 64_MiB, .sim = {.memory = 384_MiB}}) {}

  AnyRun* row() {
    AnyRun* const run = machine_.add({8, 0});
    EXPECT_OK(machine_.write(run, 1));
    machine_.residency().runs().expect_parts(run);
    EXPECT_TRUE(run->is_row.load());
    return run;
  }
};

TEST_F(RehomeRow, ItsPartsMoveWithIt) {
  AnyRun* const run = row();
  const Address before = run->address;
  ASSERT_OK(machine_.evict(run->parts[1]));
  ASSERT_OK(rehome(run));
  EXPECT_NE(run->address, before);
  EXPECT_EQ(run->parts[1]->address, run->address + 64_MiB);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(check(run, before, 1));
  EXPECT_OK(machine_.settle());
}

TEST_F(RehomeRow, WhereTheDriverRefusesAllPartsStay) {
  AnyRun* const run = row();
  const Address before = run->address;
  ASSERT_OK(machine_.settle());
  machine_.fault().fail({DriverCall::kUnmap, 3, Status(Code::kDriver, "injected", 999), false});
  EXPECT_EQ(rehome(run).code(), Code::kDriver);
  EXPECT_EQ(run->address, before);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.settle());
}

TEST_F(RehomeRow, ItCannotBeBesideOthers) {
  AnyRun* const run = row();
  AnyRun* const range = machine_.residency().ranges().add(machine_.reserve({16, 0}), TagId());
  EXPECT_EQ(machine_.residency().runs().rehome(run, range->address, range).code(), Code::kNotSupported);
  EXPECT_OK(machine_.check(run, 1));
  EXPECT_OK(machine_.settle());
}

class RehomeInFlight : public Rehome {
 protected:
  RehomeInFlight()
      : Rehome({.device = 8_MiB,
                .host = 32_MiB,
                .policy = "lru",
                .sim = {.memory = 64_MiB, .inbound = {50'000'000}, .outbound = {50'000'000}}}) {}
};

TEST_F(RehomeInFlight, TransfersAreFinishedFirst) {
  std::vector<AnyRun*> runs = machine_.add_many(5);
  std::vector<Address> before;
  for (AnyRun* const run : runs) {
    ASSERT_OK(machine_.write(run, 1));  // the fifth evicts another
    before.push_back(run->address);
  }
  ASSERT_OK(machine_.prefetch(runs[0]));
  for (AnyRun* const run : runs) ASSERT_OK(rehome(run));
  EXPECT_EQ(machine_.valid(), "ok");
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(check(runs[i], before[i], 1));
  EXPECT_OK(machine_.settle());
}

class RehomeBacked : public Rehome {
 protected:
  RehomeBacked() : Rehome({.device = 8_MiB, .backing = 32_MiB}) {}
};

TEST_F(RehomeBacked, HostFramesAreMappedAtTheNewAddressToo) {
  AnyRun* const run = machine_.add({0, 2});
  const Address before = run->address;
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(rehome(run));
  // A kernel that no use announces finds the bytes in the host frames.
  ASSERT_OK(machine_.launch(run, before.value() + 1 - run->address.value(), StreamId(0), Access::kRead));
  EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
  EXPECT_OK(check(run, before, 1));
  EXPECT_OK(machine_.settle());
}

TEST(ResidencyRuns, ANewRunHasNoFrames) {
  ResidencyMachine machine;
  auto* run = machine.add({0, 2});
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_EQ(machine.residency().figures().whereabouts(*run), (std::array<Bytes, kLocations>{}));
  EXPECT_EQ(machine.residency().figures().stats().run_bytes, 4_MiB);
  EXPECT_OK(machine.residency().runs().remove(run));
  EXPECT_EQ(machine.residency().figures().stats().run_bytes, Bytes());
}

// Its launch is recorded before the run is removed, and then read; otherwise the next reader would access a removed
// run.
TEST(ResidencyRuns, ARecordedLaunchIsReadBeforeItsRunIsRemoved) {
  ResidencyMachine machine;
  const std::array runs = {machine.add()};
  machine.add({0, 8});  // memory is short, so every launch is recorded
  ASSERT_OK(machine.write(runs[0], 1));
  machine.residency().advance();
  ASSERT_FALSE(machine.residency().has_work());
  std::jthread removing;
  const auto find = [&]() -> std::optional<std::span<tessera::Run* const>> {
    removing = std::jthread([&] { EXPECT_OK(machine.residency().runs().remove(runs[0])); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it gets as far as it can
    return runs;
  };
  Use use;
  ASSERT_TRUE(machine.residency().try_use(find, StreamId(0), Access::kRead, use));
  machine.residency().end_use(runs, StreamId(0), use);
  removing.join();
  EXPECT_FALSE(machine.residency().has_work());
}

TEST(ResidencyRuns, MoreThanAllTiersHoldIsOutOfMemory) {
  ResidencyMachine machine({.device = 8_MiB, .host = 4_MiB, .file = 4_MiB});
  machine.add({0, 6});
  const auto more = machine.residency().runs().add(machine.reserve({0, 3}), {0, 3}, TagId());
  EXPECT_EQ(more.status().code(), Code::kOutOfMemory);
  EXPECT_NE(more.status().message().find("16 MiB"), std::string_view::npos);
}

TEST(ResidencyRuns, RemovingWaitsForTheWorkThatUsesTheRun) {
  ResidencyMachine machine;
  const StreamId stream = machine.stream();
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto* run = machine.add({0, 4});
    ASSERT_OK(machine.write(run, i, stream));
    ASSERT_OK(machine.residency().runs().remove(run));  // the simulator refuses to unmap while in use
  }
}

TEST(ResidencyRuns, RemovingARunInABlockingUseIsRefused) {
  ResidencyMachine machine;
  auto* run = machine.add();
  Use use;
  ASSERT_OK(machine.residency().begin_use({&run, 1}, StreamId(0), Access::kWrite, Use::Kind::kHold, use));
  EXPECT_EQ(machine.residency().runs().remove(run).code(), Code::kBusy);
  machine.residency().end_use({&run, 1}, StreamId(0), use);
  EXPECT_OK(machine.residency().runs().remove(run));
}

}  // namespace
}  // namespace tessera
