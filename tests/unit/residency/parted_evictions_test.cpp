#include "residency/eviction/parted_evictions.hpp"

#include <atomic>
#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;

constexpr std::uint64_t kSlowLink = 20'000'000;  // bytes per second: a tenth of a second for a page

// Four pages. If more runs than fit have been added, idle ones are evicted ahead of need.
ResidencySetup parting_device(Bytes host = 32_MiB, LinkSpeed outbound = {}, bool fingerprints = false) {
  return {.device = 8_MiB,
          .host = host,
          .policy = "lru",
          .options = {.low_percent = 20, .high_percent = 25, .fingerprints = fingerprints},
          .sim = {.memory = 64_MiB, .outbound = outbound}};
}

class Parting : public ::testing::Test {
 protected:
  explicit Parting(const ResidencySetup& setup = parting_device()) : machine_(setup) {
    machine_.residency().expect_unseen_work();
  }

  ~Parting() override {
    gone_.store(true);
    gone_.notify_all();
  }

  // The first of four that fill the device. After that there is a fifth, so one has to be evicted.
  AnyRun* first_of_too_many(bool with_copies = false) {
    runs_ = machine_.add_many(4);
    for (AnyRun* const run : runs_) EXPECT_OK(machine_.write(run, 1));
    for (AnyRun* const run : runs_) {
      if (!with_copies) continue;
      EXPECT_OK(machine_.evict(run));
      EXPECT_OK(machine_.check(run, 1));
    }
    EXPECT_OK(machine_.settle());
    runs_.push_back(machine_.add());
    return runs_[0];
  }
  // Its eviction begins, and no call waits for that.
  void begin_to_leave(AnyRun* run) {
    while (run->evicting_bytes() == Bytes()) {  // until its uses are known to be over
      machine_.residency().advance();
      std::this_thread::yield();
    }
  }
  void advance_until_it_has_failed() {
    while (machine_.fault().failed() == 0) {
      machine_.residency().advance();
      std::this_thread::yield();
    }
  }
  // Only the kernel's stream is announced.
  void queue_unseen(AnyRun* run, std::uint64_t generation, StreamId stream) {
    const std::uint32_t slot = machine_.residency().begin_unnamed(stream);
    ASSERT_OK(machine_.launch(run, generation, stream, Access::kWrite));
    machine_.residency().end_unnamed(stream, slot);
  }
  // Work that names no block, and runs until the test releases it; other kernels run concurrently.
  void queue_held() {
    const StreamId other = machine_.stream();
    const std::uint32_t slot = machine_.residency().begin_unnamed(other);
    ASSERT_OK(machine_.sim().host_function(other, [this] { gone_.wait(false); }));
    machine_.residency().end_unnamed(other, slot);
  }
  void let_it_go() {
    gone_.store(true);
    gone_.notify_all();
    ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
  }
  ResidencyStats stats() { return machine_.residency().figures().stats(); }

  ResidencyMachine machine_;
  std::vector<AnyRun*> runs_;
  std::atomic<bool> gone_{false};
};

TEST_F(Parting, AStreamCreatedMeanwhileBlocksNoEviction) {
  AnyRun* const run = first_of_too_many();
  queue_held();
  begin_to_leave(run);
  queue_unseen(runs_[3], 2, machine_.stream());
  let_it_go();
  while (run->evicting_bytes() != Bytes()) machine_.residency().advance();
  ASSERT_OK(machine_.check(run, 1));
}

TEST_F(Parting, UnseenWritesBeforeTheUnmapAreInTheCopy) {
  AnyRun* const run = first_of_too_many();
  queue_held();
  begin_to_leave(run);
  EXPECT_TRUE(run->has(PageState::kParting));
  EXPECT_EQ(run->missing.load(), 0U);
  const StreamId late = machine_.stream();
  queue_unseen(run, 2, late);
  ASSERT_OK(machine_.sim().synchronize(late));
  let_it_go();
  ASSERT_OK(machine_.settle());
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 2));
}

// The copy is complete, and no call has noticed it yet.
TEST_F(Parting, AnUnseenWriteAfterTheCopyFaults) {
  AnyRun* const run = first_of_too_many();
  begin_to_leave(run);
  EXPECT_EQ(run->missing.load(), 1U) << "unmapped before it is copied";
  ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
  queue_unseen(run, 2, machine_.stream());
  EXPECT_FALSE(machine_.sim().synchronize(DeviceId(0)).is_ok());
  machine_.abandon();
}

TEST_F(Parting, ABlockThatIsUsedBeforeItIsUnmappedStaysAndIsNotCopied) {
  AnyRun* const run = first_of_too_many();
  queue_held();
  begin_to_leave(run);
  ASSERT_OK(machine_.write(run, 2));
  let_it_go();
  ASSERT_OK(machine_.settle());
  EXPECT_TRUE(run->has(PageState::kResident));
  EXPECT_EQ(stats().bytes_out, Bytes());
  EXPECT_OK(machine_.check(run, 2));
}

// It came back for a use that only reads, so its copy was valid then. There is nothing to compare its bytes with.
TEST_F(Parting, APageFetchedForAReadIsCopiedAgain) {
  AnyRun* const run = first_of_too_many(true);
  const StreamId other = machine_.stream();
  queue_unseen(run, 2, other);
  ASSERT_OK(machine_.sim().synchronize(other));
  queue_held();
  begin_to_leave(run);
  EXPECT_TRUE(run->has(PageState::kParting));
  let_it_go();
  ASSERT_OK(machine_.settle());
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(Parting, AnUnusedFetchedPageIsCopiedAgain) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(machine_.prefetch(run));
  ASSERT_OK(machine_.settle());
  const StreamId other = machine_.stream();
  queue_unseen(run, 2, other);
  ASSERT_OK(machine_.evict(run));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(Parting, CopiesAgainWithoutSecondMappings) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  machine_.fault().fail({DriverCall::kReserve, 1, Status(Code::kDriver, "injected", 999), true});
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  const StreamId other = machine_.stream();
  queue_unseen(run, 2, other);
  ASSERT_OK(machine_.evict(run));
  machine_.fault().clear();
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(Parting, ABlockFreedMeanwhileIsNotCopied) {
  AnyRun* const run = first_of_too_many();
  queue_held();
  begin_to_leave(run);
  machine_.residency().note_free(run, StreamId(0));
  run->live.store(0);
  let_it_go();
  ASSERT_OK(machine_.residency().poll_streams());
  ASSERT_OK(machine_.settle());
  EXPECT_FALSE(run->has(PageState::kCold));
  EXPECT_EQ(stats().bytes_out, Bytes());
  EXPECT_OK(machine_.residency().runs().remove(run));
}

TEST_F(Parting, APageThatCannotBeUnmappedStaysWithItsBytes) {
  AnyRun* const run = first_of_too_many();
  machine_.fault().fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999)});
  advance_until_it_has_failed();
  EXPECT_TRUE(run->has(PageState::kResident));
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(Parting, APageThatCannotBeCopiedIsMappedAgain) {
  AnyRun* const run = first_of_too_many();
  machine_.fault().fail({DriverCall::kCopyOut, 1, Status(Code::kDriver, "injected", 999)});
  advance_until_it_has_failed();
  EXPECT_TRUE(run->has(PageState::kResident));
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(Parting, WithoutSecondMappingsEvictsWhileMapped) {
  AnyRun* const run = first_of_too_many();
  machine_.fault().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), true});
  advance_until_it_has_failed();
  EXPECT_TRUE(run->has(PageState::kEvicting));
  machine_.fault().clear();
  ASSERT_OK(machine_.settle());
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 1));
}

// The work may wait for the program, so pages that it is not known to use are evicted beside it; queued work is waited
// for only briefly.
class PartingWithEndlessWork : public Parting {
 protected:
  static ResidencySetup impatient() {
    ResidencySetup setup = parting_device();
    setup.patience = Nanoseconds(5'000'000);
    return setup;
  }
  PartingWithEndlessWork() : Parting(impatient()) {}
};

TEST_F(PartingWithEndlessWork, EvictsAllTheSame) {
  AnyRun* const run = first_of_too_many();
  queue_held();
  begin_to_leave(run);
  ASSERT_TRUE(run->has(PageState::kParting));
  ASSERT_OK(machine_.write(runs_[4], 1));
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 1));
  let_it_go();
}

TEST_F(Parting, SleepAndWakeMoveEveryRun) {
  const auto runs = machine_.add_many(3);
  for (AnyRun* run : runs) ASSERT_OK(machine_.write(run, 1));
  const Result<Moved> slept = machine_.residency().sleeper().sleep(std::nullopt);
  ASSERT_TRUE(slept.is_ok()) << slept.status().to_string();
  EXPECT_EQ(slept.value().moved, 6_MiB);
  EXPECT_EQ(machine_.tiers().device.usage().spare, Bytes()) << "memory that is mapped twice went back, too";
  EXPECT_EQ(machine_.sim().memory_info(DeviceId(0)).take().free, 64_MiB);
  ASSERT_TRUE(machine_.residency().sleeper().wake(std::nullopt).is_ok());
  for (AnyRun* run : runs) EXPECT_OK(machine_.check(run, 1));
}

TEST(EveryUseAnnounced, MapsNoPageTwice) {
  ResidencyMachine machine(parting_device());
  const auto runs = machine.add_many(6);
  for (int round = 0; round < 3; ++round) {
    for (AnyRun* run : runs) ASSERT_OK(machine.write(run, 1));
  }
  ASSERT_OK(machine.settle());
  EXPECT_GT(machine.residency().figures().stats().evictions, 0U);
  // One call for each page that was mapped, fresh or by a fetch.
  EXPECT_EQ(machine.fault().calls(DriverCall::kMap), runs.size() + machine.residency().figures().stats().fetches);
}

// A slow link, so that there is time while a page is copied.
class SlowParting : public Parting {
 protected:
  explicit SlowParting(bool fingerprints = false, Bytes host = 32_MiB)
      : Parting(parting_device(host, {kSlowLink, {}}, fingerprints)) {}
};

TEST_F(SlowParting, AUseMapsThePageAgainAtTheFrameItHad) {
  AnyRun* const run = first_of_too_many();
  begin_to_leave(run);
  ASSERT_TRUE(run->has(PageState::kApartEvicting));
  const std::uint64_t frame = run->pages[0].device->value;
  ASSERT_OK(machine_.write(run, 2));
  EXPECT_TRUE(run->has(PageState::kEvicting)) << "the copy goes on";
  EXPECT_EQ(run->pages[0].device->value, frame);
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(stats().forwards, 1U);
  EXPECT_TRUE(run->has(PageState::kResident));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(SlowParting, ACallThatNeedsItsRoomWaitsForTheWorkAndThenTheCopy) {
  AnyRun* const run = first_of_too_many();
  begin_to_leave(run);
  ASSERT_OK(machine_.write(runs_[4], 1));
  EXPECT_TRUE(run->has(PageState::kCold));
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(SlowParting, SwitchingAutomaticOffRemapsPagesApart) {
  AnyRun* const run = first_of_too_many();
  begin_to_leave(run);
  ASSERT_TRUE(run->has(PageState::kApartEvicting));
  ASSERT_OK(machine_.residency().automatic().set(false));
  EXPECT_EQ(run->missing.load(), 0U);
  ASSERT_OK(machine_.launch(run, 2, StreamId(0), Access::kWrite));
  ASSERT_OK(machine_.residency().automatic().set(true));
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(SlowParting, RemovingARunReleasesPagesApart) {
  AnyRun* const run = first_of_too_many();
  begin_to_leave(run);
  ASSERT_TRUE(run->has(PageState::kApartEvicting));
  EXPECT_OK(machine_.residency().runs().remove(run));
  EXPECT_EQ(machine_.valid(), "ok");
}

// Checked by fingerprint for changes.
class CheckedApart : public SlowParting {
 protected:
  CheckedApart() : SlowParting(true) {}

  // Written once, evicted, and fetched by a launch that is given it and does not write.
  AnyRun* returned() {
    AnyRun* const run = machine_.add();
    EXPECT_OK(machine_.write(run, 1));
    EXPECT_OK(machine_.settle());
    EXPECT_OK(machine_.evict(run));
    EXPECT_OK(machine_.touch({run}, Access::kWrite));
    EXPECT_OK(machine_.settle());
    return run;
  }
};

TEST_F(CheckedApart, AnUnchangedRunIsEvictedWithoutACopy) {
  AnyRun* const run = returned();
  const Bytes before = stats().bytes_out;
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().unchanged_evictions, 1U);
  EXPECT_EQ(stats().bytes_out, before);
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(CheckedApart, ARunFetchedForAReadIsChecked) {
  AnyRun* const run = machine_.add();
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_OK(machine_.evict(run));
  ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  const Bytes before = stats().bytes_out;
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().unchanged_evictions, 1U);
  EXPECT_EQ(stats().bytes_out, before);
  ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.settle());
  const StreamId other = machine_.stream();
  queue_unseen(run, 2, other);
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().checks_changed, 1U);
  EXPECT_OK(machine_.check(run, 2));
}

TEST_F(CheckedApart, ARunChangedByUnseenWorkIsCopied) {
  AnyRun* const run = returned();
  const StreamId other = machine_.stream();
  queue_unseen(run, 2, other);
  ASSERT_OK(machine_.evict(run));
  EXPECT_EQ(stats().checks_changed, 1U);
  EXPECT_OK(machine_.check(run, 2));
}

// ---- few copies at once --------------------------------------------------------------------------

constexpr RunShape kOnePage{.large = 0, .base = 0, .between = {0, 1, 0}};  // of 8 MiB
constexpr Nanoseconds kOneCopy{1'000'000};

// Eight pages, of which six are kept free ahead of need. Mapping one waits until no copy to the host is in flight.
ResidencySetup crowded_device() {
  return {.device = 64_MiB,
          .host = 128_MiB,
          .policy = "lru",
          .options = {.low_percent = 50, .high_percent = 75, .fingerprints = false},
          .sim = {.memory = 256_MiB,
                  .outbound = {(8_MiB).value() * 1000, {}},
                  .calls = {.frame = {}, .mapping = {}, .copy_turn = kOneCopy * 100}},
          .virtual_time = true};
}

class CrowdedParting : public Parting {
 protected:
  CrowdedParting() : Parting(crowded_device()) {
    runs_ = machine_.add_many(8, kOnePage);
    for (AnyRun* const run : runs_) EXPECT_OK(machine_.write(run, 1));
    EXPECT_OK(machine_.settle());
    newest_ = machine_.add(kOnePage);
    began_ = machine_.log().now();
    machine_.residency().advance();
  }
  Bytes bytes_in(PageState state) const {
    Bytes sum;
    for (const AnyRun* const run : runs_) sum += run->bytes_in(state);
    return sum;
  }

  AnyRun* newest_;
  Nanoseconds began_;
};

TEST_F(CrowdedParting, FramesGetTheirSecondMappingsBeforeTheFirstCopyBegins) {
  EXPECT_EQ(machine_.log().now(), began_);
  EXPECT_EQ(bytes_in(PageState::kApartEvicting), 16_MiB);
}

TEST_F(CrowdedParting, OnlySixteenMebibytesAreCopiedAtOnce) {
  EXPECT_EQ(bytes_in(PageState::kApartEvicting), 16_MiB);
  EXPECT_EQ(bytes_in(PageState::kParting), 32_MiB) << "they wait for their turn, still mapped";
  while (bytes_in(PageState::kCold) < 48_MiB) {
    ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    EXPECT_LE(bytes_in(PageState::kApartEvicting), 16_MiB);
  }
  for (AnyRun* const run : runs_) EXPECT_OK(machine_.check(run, 1));
}

TEST_F(CrowdedParting, AFetchMapsBehindTheCopiesInFlight) {
  const Nanoseconds before = machine_.log().now();
  EXPECT_OK(machine_.write(newest_, 2));
  EXPECT_EQ(machine_.log().now() - before, kOneCopy * 2) << "the first makes room, and the second was queued with it";
  EXPECT_EQ(bytes_in(PageState::kApartEvicting), 16_MiB) << "then the next begin";
  EXPECT_OK(machine_.check(newest_, 2));
}

TEST_F(CrowdedParting, AFetchThatHasRoomBeginsNoCopyBeforeItMaps) {
  ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));  // the first two copies
  const Nanoseconds before = machine_.log().now();
  EXPECT_OK(machine_.write(newest_, 2));
  EXPECT_EQ(machine_.log().now(), before);
  EXPECT_EQ(bytes_in(PageState::kApartEvicting), 16_MiB) << "then the next begin";
  EXPECT_OK(machine_.check(newest_, 2));
}

}  // namespace
}  // namespace tessera
