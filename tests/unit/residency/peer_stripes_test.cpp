// Runs whose pages lie with several lenders: each page on the lane of its lender, all links at a time.
#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PeerStripes : public PageMovesTest {
 protected:
  PeerStripes()
      : PageMovesTest({.device = 16_MiB,
                       .host = 8_MiB,
                       .staging = 4_MiB,
                       .peer = 16_MiB,
                       .sim = {.devices = 3, .memory = 16_MiB},
                       .lenders = 2}) {}

  static unsigned char& byte_of(const tessera::Run& run, std::uint32_t page) {
    return *reinterpret_cast<unsigned char*>((run.page_address(page) + 5_B).value());
  }
  std::unique_ptr<tessera::Run> numbered(std::uint32_t count) {
    auto run = resident_run({0, count});
    for (std::uint32_t i = 0; i < count; ++i) byte_of(*run, i) = static_cast<unsigned char>(i + 1);
    return run;
  }
  // As many calls as the batches take.
  std::size_t leave_in_batches(tessera::Run& run) {
    const auto all = pages(run);
    std::size_t calls = 0;
    for (std::span<const PageRef> rest = all; !rest.empty(); ++calls) {
      const auto batch = rest.first(moves().links.batch_of(rest));
      rest = rest.subspan(moves().mover.copy_out(batch, Location::kPeer).take());
    }
    for (const PageRef& page : all) EXPECT_TRUE(moves().links.is_done(page, true).take());
    EXPECT_OK(moves().mover.vacate(all));
    return calls;
  }
};

TEST_F(PeerStripes, ThePagesOfARunLieWithTheLendersInTurnAndComeBackUnchanged) {
  auto run = numbered(5);
  EXPECT_EQ(leave_in_batches(*run), 5U) << "copies of one call have one lender";
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(run->pages[i].peer) << i;
    EXPECT_EQ(run->pages[i].lender, i % 2) << i;
    EXPECT_EQ(run->pages[i].lane(), lane_to_lender(i % 2)) << i;
  }
  EXPECT_EQ(moves().links.batch_of(pages(*run)), 1U) << "so have fetches";
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  ASSERT_OK(moves().mover.mount(pages(*run)));
  for (const PageRef& page : pages(*run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(byte_of(*run, i), i + 1) << i;
  take_all(*run);
  EXPECT_EQ(peer().usage().used, Bytes());
}

TEST_F(PeerStripes, AFrameThatAnotherLenderGaveIsReturnedWhereABatchEnds) {
  auto run = numbered(2);
  const auto both = pages(*run);
  EXPECT_EQ(moves().mover.copy_out(both, Location::kPeer).take(), 1U);
  EXPECT_EQ(peer().usage().used, kBasePage);
  EXPECT_FALSE(run->pages[1].peer);
  EXPECT_EQ(run->pages[1].state, PageState::kResident);
  EXPECT_TRUE(moves().links.is_done(both[0], true).take());
  ASSERT_OK(moves().mover.vacate(std::span(both).first(1)));
  take_all(*run);
}

TEST_F(PeerStripes, PagesInTheHostAreOnTheLaneToTheHost) {
  auto run = numbered(1);
  start_eviction(*run);
  EXPECT_EQ(run->pages[0].lane(), kHostLane);
  take_all(*run);
}

class StripedTransfers : public testing::TestWithParam<std::uint32_t> {};

// A byte takes a nanosecond on each link.
TEST_P(StripedTransfers, TakeTheTimeOfTheirPartOnEachLink) {
  const std::uint32_t lenders = GetParam();
  ResidencyMachine machine({.device = 16_MiB,
                            .host = 16_MiB,
                            .peer = 16_MiB,
                            .sim = {.devices = static_cast<int>(1 + lenders),
                                    .memory = 32_MiB,
                                    .peer = {1'000'000'000, {}},
                                    .peer_links_apart = true},
                            .virtual_time = true,
                            .lenders = lenders});
  tessera::Run* const run = machine.add({0, 4});
  ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.settle());
  const Nanoseconds part(kBasePage.value() * 4 / lenders);
  Nanoseconds begin = machine.log().now();
  ASSERT_OK(machine.evict(run));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.log().now() - begin, part) << "out";
  EXPECT_EQ(machine.tiers().peer->usage().used, 8_MiB);
  begin = machine.log().now();
  ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.log().now() - begin, part) << "in";
}

INSTANTIATE_TEST_SUITE_P(Lenders, StripedTransfers, testing::Values(1U, 2U, 4U),
                         [](const auto& lenders) { return "Of" + std::to_string(lenders.param); });

}  // namespace
}  // namespace tessera
