// The engine with lending devices: which runs are evicted to them, which make room there, which link is waited for.
#include <gtest/gtest.h>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using LentRun = tessera::Run;  // a test has a member Run() of its own

constexpr LinkSpeed kSlow{200'000'000, {}}, kFast{1'000'000'000'000, {}};

ResidencySetup lending(Bytes peer, LinkSpeed host_link = {}, LinkSpeed peer_link = {}) {
  return {.device = 8_MiB,
          .host = 16_MiB,
          .peer = peer,
          .sim = {.devices = 2, .memory = 32_MiB, .inbound = host_link, .outbound = host_link, .peer = peer_link}};
}

class PeerTest : public ::testing::Test {
 protected:
  explicit PeerTest(const ResidencySetup& setup = lending(4_MiB)) : machine_(setup) {}

  std::vector<LentRun*> written(std::size_t count) {
    std::vector<LentRun*> runs = machine_.add_many(count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_OK(machine_.write(runs[i], i));
    EXPECT_OK(machine_.settle());
    return runs;
  }
  Bytes with_peer(const LentRun* run) { return machine_.residency().figures().whereabouts(*run)[1]; }
  Bytes in_host(const LentRun* run) { return machine_.residency().figures().whereabouts(*run)[2]; }
  ResidencyStats stats() { return machine_.residency().figures().stats(); }

  ResidencyMachine machine_;
};

TEST_F(PeerTest, EvictsToThePeerFirstThenToTheHost) {
  const auto runs = written(7);  // four fit
  EXPECT_EQ(machine_.tiers().peer->usage().used, 4_MiB);
  Bytes host;
  for (const LentRun* run : runs) host += in_host(run);
  EXPECT_EQ(host, 2_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
  EXPECT_OK(machine_.settle());
  EXPECT_GT(stats().bytes_peer_in, Bytes());
}

TEST_F(PeerTest, DropsIdlePeerCopiesForARunWithoutOne) {
  const auto runs = written(4);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_OK(machine_.evict(runs[i]));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_OK(machine_.check(runs[i], i));  // they are only read, so the copies stay
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(machine_.tiers().peer->usage().room(), Bytes());
  EXPECT_OK(machine_.evict(runs[2]));
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(with_peer(runs[2]), 2_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
}

TEST_F(PeerTest, EvictsToTheHostWhenThePeerFails) {
  const auto runs = written(3);
  EXPECT_OK(machine_.evict(runs[0]));
  machine_.fault().fail({DriverCall::kCreateFrame, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_OK(machine_.evict(runs[1]));
  machine_.fault().clear();
  machine_.fault().fail({DriverCall::kCopy, 1, Status(Code::kDriver, "injected", 999)});
  EXPECT_OK(machine_.evict(runs[2]));
  EXPECT_OK(machine_.settle());
  EXPECT_EQ(with_peer(runs[0]), 2_MiB);
  EXPECT_EQ(in_host(runs[1]), 2_MiB);
  EXPECT_EQ(in_host(runs[2]), 2_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
}

TEST_F(PeerTest, SleepingRunsGoToTheHostNotToThePeer) {
  const auto runs = written(3);
  ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());
  for (const LentRun* run : runs) EXPECT_EQ(in_host(run), 2_MiB);
  EXPECT_EQ(machine_.tiers().peer->usage().used, Bytes());
  ASSERT_TRUE(machine_.residency().sleeper().wake(std::nullopt).is_ok());
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
}

TEST_F(PeerTest, ASleepingRunWithAPeerCopyGoesToTheHost) {
  const auto runs = written(1);
  EXPECT_OK(machine_.evict(runs[0]));
  EXPECT_OK(machine_.check(runs[0], 0));  // it is only read, so the copy stays
  EXPECT_OK(machine_.settle());
  ASSERT_EQ(machine_.tiers().peer->usage().used, 2_MiB);
  ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());
  EXPECT_EQ(in_host(runs[0]), 2_MiB);
  EXPECT_EQ(machine_.tiers().peer->usage().used, Bytes());
  EXPECT_OK(machine_.check(runs[0], 0));
}

TEST_F(PeerTest, TrimAndSleepReturnSparePeerFramesToTheLender) {
  const auto runs = written(2);
  const auto leave_a_frame = [&] {
    EXPECT_OK(machine_.evict(runs[0]));
    EXPECT_OK(machine_.write(runs[0], 0));
    EXPECT_OK(machine_.settle());
    EXPECT_GT(machine_.tiers().peer->usage().used + machine_.tiers().peer->usage().spare, Bytes());
    EXPECT_OK(machine_.evict(runs[1]));
    EXPECT_OK(machine_.write(runs[1], 1));
    EXPECT_OK(machine_.settle());
  };
  leave_a_frame();
  machine_.residency().trim();
  EXPECT_EQ(machine_.tiers().peer->usage().spare, Bytes());
  leave_a_frame();
  ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());
  EXPECT_EQ(machine_.tiers().peer->usage().spare, Bytes());
  EXPECT_EQ(machine_.sim().memory_info(DeviceId(1)).value().free, 32_MiB);
}

TEST_F(PeerTest, OutOfMemoryReportsPeerUsage) {
  written(4);
  EXPECT_OK(machine_.residency().automatic().set(false));  // so no run is evicted
  const Status full = machine_.write(machine_.add(), 4);
  EXPECT_EQ(full.code(), Code::kOutOfMemory);
  EXPECT_NE(full.message().find("peer 0 of 4 MiB used, host 0 of 16 MiB used"), std::string::npos) << full.message();
}

TEST_F(PeerTest, PeerMemoryIsPartOfTheHeap) {
  EXPECT_EQ(machine_.tiers().capacity(), 28_MiB);
  const auto runs = written(14);
  EXPECT_EQ(machine_.residency().runs().add(machine_.reserve({0, 1}), {0, 1}, TagId()).status().code(),
            Code::kOutOfMemory);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine_.check(runs[i], i));
}

TEST(PeerWithFile, EvictsToThePeerWhenTheFileIsFull) {
  ResidencySetup setup = lending(8_MiB);
  setup.host = 4_MiB, setup.file = 8_MiB;
  ResidencyMachine machine(setup);
  machine.file().set_write_outcome(Status(Code::kIo, "worn out"));
  std::vector<LentRun*> runs = machine.add_many(12);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_OK(machine.write(runs[i], i));
  (void)machine.write(runs[10], 10);  // some run has to be spilled to the file for it
  ASSERT_EQ(machine.tiers().file.reach(), Bytes());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_OK(machine.residency().runs().remove(runs[i]));
  EXPECT_OK(machine.write(runs[11], 11));
  for (std::size_t i = 3; i < 10; ++i) EXPECT_OK(machine.check(runs[i], i));
  EXPECT_OK(machine.check(runs[11], 11));
}

TEST_F(PeerTest, PlacesEachPageOfARun) {
  LentRun* const run = machine_.add({0, 4});
  EXPECT_OK(machine_.write(run, 1));
  EXPECT_OK(machine_.settle());
  const std::vector<Locations> places = {Location::kPeer, Location::kDevice | Location::kPeer, Location::kHost,
                                         Location::kDevice};
  EXPECT_OK(machine_.residency().place(run, places));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Page& page = run->pages[i];
    EXPECT_EQ(page.device.has_value(), places[i].has(Location::kDevice)) << i;
    EXPECT_EQ(page.peer.has_value(), places[i].has(Location::kPeer)) << i;
    EXPECT_EQ(page.host.has_value(), places[i].has(Location::kHost)) << i;
  }
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
}

// The host's link takes ten milliseconds for a page, the peer's next to nothing.
class TwoLinksTest : public PeerTest {
 protected:
  explicit TwoLinksTest(LinkSpeed host_link = kSlow) : PeerTest(lending(4_MiB, host_link, kFast)) {}
};

// A tenth of a second for a page, so that the other copy is complete by then, even under a sanitizer.
class SlowHostLinkTest : public TwoLinksTest {
 protected:
  SlowHostLinkTest() : TwoLinksTest({20'000'000, {}}) {}
};

TEST_F(SlowHostLinkTest, CopiesOnBothLinksOverlap) {
  const auto runs = written(4);
  ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());  // to the host
  EXPECT_OK(machine_.check(runs[0], 0));
  EXPECT_OK(machine_.check(runs[1], 1));
  EXPECT_OK(machine_.write(runs[0], 10));
  EXPECT_OK(machine_.evict(runs[0]));
  EXPECT_OK(machine_.settle());
  ASSERT_EQ(with_peer(runs[0]), 2_MiB);
  // Queued after it: a slow one, and the fast one.
  EXPECT_OK(machine_.prefetch(runs[2]));
  EXPECT_OK(machine_.prefetch(runs[3]));
  EXPECT_OK(machine_.prefetch(runs[0]));
  bool overtook = false;
  while (!overtook && runs[3]->has(PageState::kFetching)) {
    machine_.residency().advance();
    overtook = runs[0]->has(PageState::kResident) && runs[3]->has(PageState::kFetching);
  }
  EXPECT_TRUE(overtook);
  EXPECT_OK(machine_.check(runs[0], 10));
}

// Two copies over the host's link take 200 ms, twice as long as recomputing; over the peer's next to nothing.
TEST_F(SlowHostLinkTest, PrefersThePeerToRecompute) {
  const auto runs = written(2);
  ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_OK(machine_.check(runs[i], i));
  EXPECT_OK(machine_.write(runs[0], 0));
  EXPECT_OK(machine_.evict(runs[0]));
  EXPECT_OK(machine_.write(runs[0], 5));
  EXPECT_OK(machine_.settle());
  bool called = false;
  EXPECT_OK(machine_.residency().recomputation().set(runs[0], {[&](StreamId) {
                                                                 called = true;
                                                                 return Status();
                                                               },
                                                               Nanoseconds(100'000'000)}));
  EXPECT_OK(machine_.evict(runs[0]));
  EXPECT_EQ(with_peer(runs[0]), 2_MiB);
  EXPECT_OK(machine_.check(runs[0], 5));
  EXPECT_FALSE(called);
}

TEST_F(TwoLinksTest, WorkWaitsForBothLinks) {
  for (std::uint64_t round = 0; round < 8; ++round) {
    const auto runs = written(3);
    ASSERT_TRUE(machine_.residency().sleeper().sleep(std::nullopt).is_ok());
    EXPECT_OK(machine_.check(runs[0], 0));
    EXPECT_OK(machine_.write(runs[0], 50 + round));
    EXPECT_OK(machine_.evict(runs[0]));
    EXPECT_OK(machine_.settle());
    Use use;
    const std::vector<LentRun*> both = {runs[0], runs[1]};
    ASSERT_OK(machine_.residency().begin_use(both, StreamId(0), Access::kRead, Use::Kind::kGate, use));
    EXPECT_OK(machine_.launch(runs[0], 50 + round, StreamId(0), Access::kRead));
    EXPECT_OK(machine_.launch(runs[1], 1, StreamId(0), Access::kRead));
    machine_.residency().end_use(both, StreamId(0), use);
    EXPECT_OK(machine_.settle());
    for (LentRun* run : runs) {
      run->live.store(0);
      EXPECT_OK(machine_.residency().runs().remove(run));
    }
  }
  EXPECT_EQ(machine_.wrong(), 0U);
}

}  // namespace
}  // namespace tessera
