// Placeholders, page by page.
#include "residency/pages/page_placeholders.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PagePlaceholdersTest : public PageMovesTest {
 protected:
  PagePlaceholdersTest() : PageMovesTest({.device = 64_MiB, .host = 96_MiB, .zero_copy = true}) {}

  PagePlaceholders& placeholders() { return moves().placeholders; }
  // Whether the driver finds memory at all of the run's addresses.
  bool is_found(const tessera::Run& run) {
    const bool found = fault().fill(run.address, 0, run.shape.bytes(), StreamId(0)).is_ok();
    wait_for_device();
    return found;
  }
};

TEST_F(PagePlaceholdersTest, CoverPagesThatAreAwayUntilTheEnd) {
  const auto run = resident_run({1, 2});
  fill(*run, 7);
  start_eviction(*run);
  ASSERT_FALSE(is_found(*run));
  EXPECT_OK(placeholders().cover(pages(*run)));
  EXPECT_OK(placeholders().cover(pages(*run)));  // already covered
  EXPECT_TRUE(is_found(*run));
  EXPECT_EQ(stats().bytes_in, 0_B);
  EXPECT_EQ(run->missing.load(), 3U) << "they are still away";
  placeholders().uncover_all();
  EXPECT_FALSE(is_found(*run));
  EXPECT_OK(moves().mover.mount(pages(*run)));
  for (const PageRef& page : pages(*run)) EXPECT_TRUE(moves().mover.finish_fetch(page, true).take());
  EXPECT_EQ(first_byte(*run), 7) << "what was written to a placeholder is in no page";
  take_all(*run);
}

TEST_F(PagePlaceholdersTest, LeavePagesThatAreThereAlone) {
  const auto resident = resident_run({0, 1}), in_host = make_run({0, 1});
  fill(*resident, 7);
  EXPECT_OK(moves().zero_copy.begin(pages(*in_host)).status());
  fill(*in_host, 8);
  const std::uint64_t mapped = fault().calls(DriverCall::kMap);
  EXPECT_OK(placeholders().cover(pages(*resident)));
  EXPECT_OK(placeholders().cover(pages(*in_host)));
  EXPECT_EQ(fault().calls(DriverCall::kMap), mapped);
  placeholders().uncover_all();
  EXPECT_EQ(first_byte(*resident), 7);
  EXPECT_EQ(first_byte(*in_host), 8);
  take_all(*resident);
  take_all(*in_host);
}

TEST_F(PagePlaceholdersTest, MakeWayForEveryKindOfMapping) {
  const auto cold = cold_run(), fresh = make_run({0, 1});
  EXPECT_OK(placeholders().cover(pages(*cold)));
  EXPECT_OK(placeholders().cover(pages(*fresh)));
  EXPECT_OK(moves().mover.mount(pages(*cold)));
  EXPECT_TRUE(moves().mover.finish_fetch({cold.get(), 0}, true).take());
  EXPECT_OK(moves().zero_copy.begin(pages(*fresh)).status());
  placeholders().uncover_all();
  EXPECT_TRUE(is_found(*cold));
  EXPECT_TRUE(is_found(*fresh));
  take_all(*cold);
  take_all(*fresh);
}

TEST_F(PagePlaceholdersTest, AnAddressThatIsGivenUpIsUncovered) {
  const auto run = cold_run();
  EXPECT_OK(placeholders().cover(pages(*run)));
  take_all(*run);
  moves().forget(*run);
  EXPECT_FALSE(is_found(*run));
}

TEST_F(PagePlaceholdersTest, WhatTheDriverRefusesLeavesNothingBehind) {
  const auto run = cold_run();
  for (const DriverCall call : {DriverCall::kCreateFrame, DriverCall::kMap, DriverCall::kSetAccess}) {
    fail(call, 1);
    EXPECT_EQ(placeholders().cover(pages(*run)).code(), Code::kDriver);
    fault().clear();
    EXPECT_FALSE(is_found(*run));
  }
  EXPECT_OK(placeholders().cover(pages(*run)));
  fail(DriverCall::kUnmap, 1);
  EXPECT_FALSE(moves().mover.mount(pages(*run)).is_ok());
  fault().clear();
  EXPECT_OK(moves().mover.mount(pages(*run)));  // the next attempt succeeds
  EXPECT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  take_all(*run);
}

}  // namespace
}  // namespace tessera
