// Pages with their bytes on a peer, step by step: like those in the host, over a separate link.
#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

// Eight base pages fit on the device, two on the peer.
class PeerPages : public PageMovesTest {
 protected:
  PeerPages()
      : PageMovesTest({.device = 16_MiB,
                       .host = 8_MiB,
                       .staging = 4_MiB,
                       .file = 8_MiB,
                       .peer = 4_MiB,
                       .sim = {.devices = 2, .memory = 16_MiB}}) {}

  std::unique_ptr<tessera::Run> filled(std::uint8_t value, std::uint32_t count = 1) {
    auto run = resident_run({0, count});
    fill(*run, value);
    return run;
  }
  void arrive(tessera::Run& run) {
    ASSERT_OK(moves().mover.mount(pages(run)));
    for (const PageRef& page : pages(run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  }
  static Page& only(tessera::Run& run) { return run.pages[0]; }
};

TEST_F(PeerPages, BytesSurviveEvictionToThePeer) {
  auto run = filled(7);
  start_eviction(*run, Location::kPeer);
  EXPECT_TRUE(only(*run).peer && !only(*run).host);
  EXPECT_EQ(only(*run).place, Location::kPeer);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  auto other = filled(9, 8);  // takes the frame that it had
  take_all(*other);
  arrive(*run);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(stats().bytes_peer_out, kBasePage);
  EXPECT_EQ(stats().bytes_peer_in, kBasePage);
  EXPECT_EQ(stats().bytes_in + stats().bytes_out, Bytes()) << "nothing went over the link to the host";
  take_all(*run);
}

TEST_F(PeerPages, ACopyThatIsStillValidStaysWithThePeerAndCountsAsIdle) {
  auto run = filled(7);
  start_eviction(*run, Location::kPeer);
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), Bytes()) << "it is the only one";
  arrive(*run);
  EXPECT_TRUE(only(*run).peer);
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), kBasePage);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(stats().clean_evictions, 1U) << "so it leaves for nothing";
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), Bytes());
  arrive(*run);
  moves().copies.drop_peer({run.get(), 0});
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), Bytes());
  EXPECT_EQ(peer().usage().used, Bytes());
  take_all(*run);
}

TEST_F(PeerPages, AStalePeerCopyIsDroppedAfterTheFetch) {
  auto run = filled(7);
  start_eviction(*run, Location::kPeer);
  run->written.store(Epoch(1));
  ASSERT_OK(moves().mover.mount(pages(*run)));
  ASSERT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_FALSE(only(*run).peer);
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), Bytes());
  take_all(*run);
}

TEST_F(PeerPages, APageUsedMeanwhileStaysAndReturnsThePeerFrame) {
  auto run = filled(7);
  ASSERT_OK(copy_out({run.get(), 0}, Location::kPeer));
  EXPECT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  run->used.store(Epoch(1));
  run->written.store(Epoch(1));
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(only(*run).state, PageState::kResident);
  EXPECT_EQ(stats().forwards, 1U);
  EXPECT_EQ(stats().bytes_peer_out, kBasePage);
  EXPECT_EQ(peer().usage().used, Bytes());
  EXPECT_EQ(moves().ledger.idle_peer_bytes(), Bytes());
  run->quiet = Epoch(1);
  take_all(*run);
}

// The driver makes mappings wait for copies to the host alone.
TEST_F(PeerPages, CopiesToThePeerAreNotCountedAsCopiesToTheHost) {
  auto to_peer = filled(7), to_host = filled(9), forwarded = filled(11);
  ASSERT_OK(copy_out({to_peer.get(), 0}, Location::kPeer));
  EXPECT_EQ(moves().ledger.copying_out(), kBasePage);
  EXPECT_EQ(moves().ledger.copying_to_host(), Bytes());
  ASSERT_OK(copy_out({to_host.get(), 0}, Location::kHost));
  ASSERT_OK(copy_out({forwarded.get(), 0}, Location::kPeer));
  EXPECT_EQ(moves().ledger.copying_out(), 3 * kBasePage);
  EXPECT_EQ(moves().ledger.copying_to_host(), kBasePage);
  forwarded->used.store(Epoch(1));
  forwarded->written.store(Epoch(1));
  for (auto* run : {to_peer.get(), to_host.get(), forwarded.get()}) {
    EXPECT_TRUE(moves().links.is_done({run, 0}, true).take());
    ASSERT_OK(moves().mover.vacate(pages(*run)));
  }
  EXPECT_EQ(stats().forwards, 1U);
  EXPECT_EQ(moves().ledger.copying_to_host(), Bytes());
  forwarded->quiet = Epoch(1);
  for (auto* run : {to_peer.get(), to_host.get(), forwarded.get()}) take_all(*run);
}

TEST_F(PeerPages, CopiesOutAsManyAsThePeerHasFrames) {
  auto run = filled(7, 4);
  const auto all = pages(*run);
  EXPECT_EQ(moves().mover.copy_out(all, Location::kPeer).take(), 2U);
  EXPECT_EQ(moves().mover.copy_out(std::span(all).subspan(2), Location::kPeer).status().code(), Code::kOutOfMemory);
  EXPECT_FALSE(run->pages[2].peer || run->pages[2].host);
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(moves().links.is_done({run.get(), i}, true).take());
  take_all(*run);
}

TEST_F(PeerPages, FetchesFromPeerAndHostOverSeparateLinks) {
  auto run = filled(7, 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const PageRef page{run.get(), i};
    ASSERT_OK(copy_out(page, i % 2 == 0 ? Location::kPeer : Location::kHost));
    ASSERT_TRUE(moves().links.is_done(page, true).take());
  }
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(moves().links.batch_of(pages(*run)), 1U) << "the next one is elsewhere";
  arrive(*run);
  EXPECT_EQ(stats().bytes_peer_in, kBasePage * 2);
  EXPECT_EQ(stats().bytes_in, kBasePage * 2);
  EXPECT_EQ(first_byte(*run), 7);
  take_all(*run);
}

TEST_F(PeerPages, AFailedPeerCopyLeavesThePage) {
  auto run = filled(7);
  fail(DriverCall::kCopy, 1);
  EXPECT_EQ(copy_out({run.get(), 0}, Location::kPeer).native_code(), 999);
  EXPECT_EQ(only(*run).state, PageState::kResident);
  EXPECT_EQ(peer().usage().used, Bytes());
  start_eviction(*run, Location::kPeer);
  fail(DriverCall::kCopy, 1);
  EXPECT_EQ(moves().mover.mount(pages(*run)).native_code(), 999);
  EXPECT_EQ(only(*run).state, PageState::kCold);
  arrive(*run);
  EXPECT_EQ(first_byte(*run), 7);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
