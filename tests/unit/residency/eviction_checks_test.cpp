#include "residency/eviction/eviction_checks.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kSlowSpeed = 100'000'000;  // bytes per second: 21 ms for a page

// A link beside which fingerprints are fast; in virtual time, where no other work on the machine makes them slow.
ResidencySetup slow_link(Bytes device, Bytes host, Bytes file = {}) {
  return {.device = device,
          .host = host,
          .file = file,
          .sim = {.memory = 64_MiB,
                  .inbound = {8 * kSlowSpeed, {}},
                  .outbound = {kSlowSpeed / 4, {}},
                  .fingerprints = {80 * kSlowSpeed, {}}},
          .virtual_time = true};
}

// Room for four pages; each run is written once, evicted, and fetched.
class ResidencyCheck : public testing::Test {
 protected:
  explicit ResidencyCheck(const ResidencySetup& setup = slow_link(8_MiB, 32_MiB)) : machine_(setup) {}

  std::vector<tessera::Run*> written(std::size_t count) {
    const auto runs = machine_.add_many(count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_OK(machine_.write(runs[i], 1));
    EXPECT_OK(machine_.settle());
    return runs;
  }
  void round_trip(tessera::Run* run) {
    ASSERT_OK(machine_.evict(run));
    ASSERT_OK(use(run));
  }
  // A launch that is given the run, and does not write it.
  Status use(tessera::Run* run) { return machine_.touch({run}, Access::kWrite); }
  ResidencyStats stats() { return machine_.residency().figures().stats(); }

  ResidencyMachine machine_;
};

TEST_F(ResidencyCheck, UnchangedRunsAreEvictedWithoutACopy) {
  const auto runs = written(6);  // two more than fit
  for (int round = 0; round < 3; ++round) {
    for (auto* run : runs) ASSERT_OK(use(run));
  }
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(stats().bytes_out, 12_MiB) << "each once";
  EXPECT_GT(stats().unchanged_evictions, 6U);
  EXPECT_EQ(stats().checks_changed, 0U);
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 1));
}

TEST_F(ResidencyCheck, AChangedRunIsCopiedAndRestored) {
  auto* run = written(1).front();
  round_trip(run);
  ASSERT_OK(machine_.write(run, 2));
  const Bytes before = stats().bytes_out;
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().checks_changed, 1U);
  EXPECT_EQ(stats().bytes_out, before + 2_MiB);
  EXPECT_EQ(run->missing.load(), 1U);
  ASSERT_OK(machine_.check(run, 2));
  // It is not checked the next time.
  ASSERT_OK(use(run));
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().checks, 1U);
  ASSERT_OK(machine_.check(run, 2));
}

TEST_F(ResidencyCheck, CopiesOnlyTheChangedPagesOfARun) {
  auto* run = machine_.add({0, 3});
  ASSERT_OK(machine_.write(run, 1));
  round_trip(run);
  ASSERT_OK(use(run));
  ASSERT_OK(machine_.sim().fill(run->page_address(1), 9, 64_KiB, StreamId(0)));
  const Bytes before = stats().bytes_out;
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().bytes_out, before + 2_MiB);
  EXPECT_EQ(stats().unchanged_evictions, 2U);
  ASSERT_OK(use(run));
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>(run->page_address(1).value() + 65535), 9);
}

TEST_F(ResidencyCheck, SleepEvictsUnchangedRunsWithoutACopy) {
  const auto runs = written(3);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(machine_.residency().sleeper().sleep({}).is_ok());
    for (auto* run : runs) EXPECT_EQ(run->missing.load(), 1U);
    for (auto* run : runs) ASSERT_OK(use(run));
  }
  EXPECT_EQ(stats().bytes_out, 6_MiB);
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 1));
}

class ResidencyCheckOff : public ResidencyCheck {
 protected:
  static ResidencySetup off() {
    ResidencySetup setup = slow_link(8_MiB, 32_MiB);
    setup.options.fingerprints = false;
    return setup;
  }
  ResidencyCheckOff() : ResidencyCheck(off()) {}
};

TEST_F(ResidencyCheckOff, TakesNoFingerprint) {
  auto* run = written(1).front();
  for (int i = 0; i < 2; ++i) round_trip(run);
  EXPECT_EQ(stats().bytes_out, 4_MiB);
  EXPECT_EQ(stats().checks, 0U);
  EXPECT_EQ(machine_.fault().calls(DriverCall::kFingerprint), 0U);
}

// A fingerprint takes 50 ms and is that of the bytes at its end, a kernel writes when it is over; and pages begin to
// leave without anybody waiting.
class ResidencyCheckSlow : public ResidencyCheck {
 protected:
  static ResidencySetup slow() {
    ResidencySetup setup = slow_link(8_MiB, 32_MiB);
    setup.options = {.low_percent = 50, .high_percent = 50};
    setup.sim.fingerprints = {2 * kSlowSpeed / 5, {}};
    setup.sim.kernel_time = Nanoseconds(400'000'000);
    return setup;
  }
  ResidencyCheckSlow() : ResidencyCheck(slow()) {}

  // Runs that just fit, all of which were evicted before; after another one, evictions start.
  std::vector<tessera::Run*> asked() {
    const auto runs = written(4);
    for (auto* run : runs) round_trip(run);
    EXPECT_OK(machine_.settle());
    machine_.add();
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    std::vector<tessera::Run*> under_way;
    for (auto* run : runs) {
      if (run->has(PageState::kChecking)) under_way.push_back(run);
    }
    return under_way;
  }
};

TEST_F(ResidencyCheckSlow, ARunWrittenDuringItsCheckStays) {
  const auto runs = asked();
  ASSERT_FALSE(runs.empty());
  for (auto* run : runs) ASSERT_OK(machine_.write(run, 2));
  ASSERT_OK(machine_.settle());
  for (auto* run : runs) {
    EXPECT_EQ(run->missing.load(), 0U);
    ASSERT_OK(machine_.check(run, 2));
  }
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(ResidencyCheckSlow, ARunUsedDuringItsCheckStays) {
  const auto runs = asked();
  ASSERT_FALSE(runs.empty());
  const auto before = stats().unchanged_evictions;
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  for (auto* run : runs) EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(stats().unchanged_evictions, before);
}

TEST_F(ResidencyCheckSlow, ARunMayBeRemovedDuringItsCheck) {
  const auto runs = asked();
  ASSERT_FALSE(runs.empty());
  for (auto* run : runs) EXPECT_OK(machine_.residency().runs().remove(run));
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.residency().drain());
}

TEST_F(ResidencyCheckSlow, ARunMayBePinnedDuringItsCheck) {
  const auto runs = asked();
  ASSERT_FALSE(runs.empty());
  ASSERT_OK(machine_.residency().pins().pin(runs.front()));
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(runs.front()->missing.load(), 0U);
  ASSERT_OK(machine_.check(runs.front(), 1));
  ASSERT_OK(machine_.residency().pins().unpin(runs.front()));
}

TEST_F(ResidencyCheckSlow, AnAllocationWaitsForTheCheck) {
  const auto runs = asked();
  ASSERT_FALSE(runs.empty());
  auto* large = machine_.add({0, 4});
  ASSERT_OK(machine_.write(large, 3));
  for (auto* run : runs) EXPECT_EQ(run->missing.load(), 1U);
  EXPECT_GE(stats().unchanged_evictions, runs.size());
  ASSERT_OK(machine_.check(large, 3));
}

// ---- room ---------------------------------------------------------------------------------------

class ResidencyCheckFull : public ResidencyCheck {
 protected:
  // Host memory for five pages, and a file.
  explicit ResidencyCheckFull(bool on = true) : ResidencyCheck(full(on)) {}
  static ResidencySetup full(bool on) {
    ResidencySetup setup = slow_link(8_MiB, 10_MiB, 64_MiB);
    setup.options.fingerprints = on;
    return setup;
  }
  // Four pages with copies below them; then four others are written, and all of them fit without the copies.
  Bytes written_to_file() {
    const auto runs = written(4);
    for (auto* run : runs) round_trip(run);
    const auto others = machine_.add_many(4);
    // In sequence: pages in flight need host frames, too.
    const auto after = [&](const Status& status) {
      EXPECT_OK(status);
      EXPECT_OK(machine_.settle());
    };
    for (auto* run : others) after(machine_.write(run, 2));
    for (auto* run : runs) after(machine_.check(run, 1));
    for (auto* run : others) after(machine_.check(run, 2));
    return stats().bytes_file_written;
  }
};

class ResidencyCheckFullOff : public ResidencyCheckFull {
 protected:
  ResidencyCheckFullOff() : ResidencyCheckFull(false) {}
};

TEST_F(ResidencyCheckFull, DropsCandidateCopiesInsteadOfSpilling) { EXPECT_EQ(written_to_file(), Bytes()); }
TEST_F(ResidencyCheckFullOff, SpillsNothing) { EXPECT_EQ(written_to_file(), Bytes()); }

// More than host memory holds: unchanged pages are written to the disk once.
TEST_F(ResidencyCheckFull, WritesAnUnchangedPageToTheFileOnce) {
  const auto runs = written(12);
  for (int round = 0; round < 4; ++round) {
    for (auto* run : runs) ASSERT_OK(use(run));
  }
  ASSERT_OK(machine_.settle());
  EXPECT_LE(stats().bytes_file_written, 24_MiB);
  EXPECT_GT(stats().unchanged_evictions, 12U);
  for (auto* run : runs) ASSERT_OK(machine_.check(run, 1));
}

}  // namespace
}  // namespace tessera
