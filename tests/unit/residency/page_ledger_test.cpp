#include "residency/pages/page_ledger.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, AnIllegalStepIsAnError) {
  auto run = make_run({0, 1});
  EXPECT_EQ(moves().releases.discard({run.get(), 0}).code(), Code::kInternal);
}

TEST_F(PageMovesTest, CountsBytesByStateWhileTheyMove) {
  auto run = resident_run({0, 2});
  ASSERT_OK(copy_out({run.get(), 0}));
  EXPECT_EQ(moves().ledger.moving(PageState::kEvicting), kBasePage);
  EXPECT_EQ(moves().ledger.copying_out(), kBasePage);
  EXPECT_EQ(moves().ledger.evicting_bytes(), kBasePage);
  EXPECT_EQ(run->bytes_in(PageState::kEvicting), kBasePage);
  EXPECT_EQ(run->bytes_in(PageState::kResident), kBasePage);
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(moves().ledger.evicting_bytes(), Bytes());
  EXPECT_EQ(run->bytes_in(PageState::kCold), kBasePage);
  EXPECT_EQ(stats().bytes_out, kBasePage);
  moves().ledger.note_move({run.get(), 1}, EventKind::kFetch);
  EXPECT_EQ(stats().bytes_in, kBasePage);
  EXPECT_EQ(run->cost.moved[static_cast<std::size_t>(Link::kIn)], kBasePage);
  take_all(*run);
}

TEST_F(PageMovesTest, CountsBytesByTagInTheNearestTier) {
  auto run = resident_run({0, 2});
  const auto bytes = [&](Location location) {
    const auto sums = moves().ledger.by_tag().sums();
    return sums.empty() ? Bytes() : sums[0].bytes[index_of(location)];
  };
  EXPECT_EQ(bytes(Location::kDevice), 2 * kBasePage);
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  EXPECT_EQ(bytes(Location::kDevice), 2 * kBasePage) << "it is still mapped";
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(bytes(Location::kDevice), kBasePage);
  EXPECT_EQ(bytes(Location::kHost), kBasePage);
  EXPECT_EQ(moves().ledger.by_tag().sums()[0].tag, run->tag);
  take_all(*run);
  EXPECT_TRUE(moves().ledger.by_tag().sums().empty());
}

}  // namespace
}  // namespace tessera
