// Device memory yielded to the driver, and the budget afterwards.
#include <optional>
#include <vector>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

class Yield : public testing::Test {
 protected:
  static constexpr std::uint64_t kRuns = 12;

  // 24 MiB of a device of 32 MiB, all of it written.
  void start(Bytes host = 64_MiB) {
    machine_.emplace(ResidencySetup{.device = 32_MiB, .host = host, .staging = 4_MiB, .sim = {.memory = 32_MiB}});
    runs_ = machine_->add_many(kRuns);
    for (std::uint64_t i = 0; i < kRuns; ++i) ASSERT_OK(machine_->write(runs_[i], i));
  }
  void free_first(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      (void)machine_->residency().note_free(runs_[i], StreamId(0));
      runs_[i]->live.store(0);
    }
    ASSERT_TRUE(machine_->sim().synchronize(DeviceId(0)).is_ok());
  }
  void check_from(std::uint64_t first) {
    for (std::uint64_t i = first; i < kRuns; ++i) ASSERT_OK(machine_->check(runs_[i], i));
  }
  Bytes driver_free() { return machine_->sim().memory_info(DeviceId(0)).value().free; }
  Bytes budget() { return machine_->tiers().device.usage().capacity; }

  std::optional<ResidencyMachine> machine_;
  std::vector<tessera::Run*> runs_;
};

TEST_F(Yield, ReturnsFreeFramesWithoutAMove) {
  start();
  free_first(10);
  EXPECT_EQ(driver_free(), 8_MiB);
  EXPECT_EQ(machine_->residency().yields().begin(Bytes()).value(), 20_MiB);
  EXPECT_EQ(driver_free(), 28_MiB);
  EXPECT_EQ(budget(), 4_MiB);
  EXPECT_EQ(machine_->residency().figures().stats().bytes_out, Bytes());
  machine_->residency().yields().end();
  EXPECT_EQ(budget(), 32_MiB) << "nobody took it";
  check_from(10);
}

TEST_F(Yield, EvictsWhatTheDriverLacks) {
  start();
  EXPECT_EQ(machine_->residency().yields().begin(18_MiB).value(), 10_MiB);
  EXPECT_EQ(driver_free(), 18_MiB);
  const FrameId taken = machine_->sim().create_frame(DeviceId(0), FrameLocation::kDevice, 18_MiB).value();
  machine_->residency().yields().end();
  EXPECT_EQ(budget(), 14_MiB);
  check_from(0);
  EXPECT_EQ(budget(), 14_MiB) << "the driver has no more";
  ASSERT_TRUE(machine_->sim().destroy_frame(taken).is_ok());
  machine_->tiers().device.expect_more();
  check_from(0);
  EXPECT_EQ(budget(), 32_MiB) << "when room is short the driver is asked";
  const Bytes moved = machine_->residency().figures().stats().bytes_in;
  check_from(0);
  EXPECT_EQ(machine_->residency().figures().stats().bytes_in, moved) << "all of it fits again";
}

TEST_F(Yield, EvictsNothingWhenTheDriverHasEnough) {
  start();
  EXPECT_EQ(machine_->residency().yields().begin(8_MiB).value(), Bytes());
  machine_->residency().yields().end();
  EXPECT_EQ(machine_->residency().figures().stats().bytes_out, Bytes());
}

TEST_F(Yield, EvictsNothingWhenItCannotBeEnough) {
  start();
  EXPECT_EQ(machine_->residency().yields().begin(33_MiB).value(), Bytes());
  machine_->residency().yields().end();
  EXPECT_EQ(machine_->residency().figures().stats().bytes_out, Bytes());
}

TEST_F(Yield, PinnedRunsStay) {
  start();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_OK(machine_->residency().pins().pin(runs_[i]));
  EXPECT_EQ(machine_->residency().yields().begin(13_MiB).value(), Bytes()) << "4 MiB can leave, 6 would have to";
  machine_->residency().yields().end();
  EXPECT_EQ(machine_->residency().yields().begin(12_MiB).value(), 4_MiB);
  machine_->residency().yields().end();
  check_from(0);
}

TEST_F(Yield, EvictsNoMoreThanTheLowerTiersHold) {
  start(6_MiB);
  EXPECT_EQ(machine_->residency().yields().begin(16_MiB).value(), Bytes()) << "the staging reserve is no place to stay";
  machine_->residency().yields().end();
  EXPECT_EQ(machine_->residency().yields().begin(14_MiB).value(), 6_MiB);
  machine_->residency().yields().end();
  check_from(0);
}

TEST_F(Yield, AnUnknownNeedEvictsHalf) {
  start();
  EXPECT_EQ(machine_->residency().yields().begin(DriverYield::kUnknown).value(), 12_MiB);
  ASSERT_OK(machine_->touch({runs_[0], runs_[5]}));  // repeated work finds room for its blocks
  EXPECT_EQ(driver_free(), 20_MiB);
  machine_->residency().yields().end();
  check_from(0);
}

TEST_F(Yield, WaitsForWorkOnFreedRunsItReleases) {
  start();
  for (std::uint64_t i = 0; i < 12; ++i) {
    (void)machine_->residency().note_free(runs_[i], StreamId(0));
    runs_[i]->live.store(0);
  }
  EXPECT_EQ(machine_->residency().yields().begin(32_MiB).value(), 24_MiB);
  EXPECT_EQ(driver_free(), 32_MiB);
  machine_->residency().yields().end();
}

TEST_F(Yield, ADriverThatFailsEndsTheYield) {
  start();
  machine_->fault().fail({DriverCall::kMemoryInfo, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_EQ(machine_->residency().yields().begin(18_MiB).status().native_code(), 999);
  machine_->tiers().device.regain(DeviceTier::Ask::kNow);
  EXPECT_EQ(budget(), 32_MiB);
  check_from(0);
}

TEST_F(Yield, ATrimKeepsTheRequestedBytes) {
  start();
  free_first(8);
  ASSERT_OK(machine_->residency().yields().trim_device(20_MiB));
  EXPECT_GE(driver_free(), 12_MiB);
  ASSERT_OK(machine_->residency().yields().trim_device(Bytes()));
  EXPECT_EQ(driver_free(), 24_MiB);
  EXPECT_EQ(budget(), 32_MiB);
  check_from(8);
}

TEST_F(Yield, GivesOthersTheirShareInPieces) {
  start();
  DriverYield& yields = machine_->residency().yields();
  const Result<Bytes> left = yields.shed_device(10_MiB, 4_MiB);
  ASSERT_TRUE(left.is_ok()) << left.status().to_string();
  EXPECT_EQ(left.value(), 10_MiB) << "14 MiB beyond the share, of which a piece is on its way out";
  for (int i = 0; i < 20 && yields.shed_device(10_MiB, 4_MiB).value(); ++i) {
  }
  ASSERT_OK(machine_->residency().drain());
  EXPECT_EQ(yields.shed_device(10_MiB, 4_MiB).value(), Bytes());
  EXPECT_EQ(driver_free(), 22_MiB);
  EXPECT_EQ(budget(), 10_MiB);
  check_from(0);
  EXPECT_EQ(budget(), 10_MiB) << "the driver has more, but not for this program";
  machine_->tiers().device.set_ceiling(32_MiB);
  check_from(0);
  EXPECT_EQ(budget(), 32_MiB);
}

TEST_F(Yield, SaysWhenNothingMoreCanGoToOthers) {
  start();
  ASSERT_OK(machine_->residency().pins().pin(runs_[0]));
  DriverYield& yields = machine_->residency().yields();
  Result<Bytes> left = Bytes();
  for (int i = 0; i < 40 && left.is_ok(); ++i) {
    left = yields.shed_device(Bytes(), 4_MiB);
    ASSERT_OK(machine_->residency().drain());
  }
  EXPECT_EQ(left.status().code(), Code::kOutOfMemory);
  EXPECT_EQ(machine_->tiers().device.usage().used, 2_MiB);
  ASSERT_OK(machine_->residency().pins().unpin(runs_[0]));
  check_from(0);
}

}  // namespace
}  // namespace tessera
