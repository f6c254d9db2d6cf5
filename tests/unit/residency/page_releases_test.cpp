#include "residency/pages/page_releases.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, APageUsedSinceItsCopyIsForwarded) {
  auto run = resident_run({0, 1});
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  run->used.store(Epoch(5));
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(stats().forwards, 1U);
  EXPECT_EQ(stats().bytes_out, kBasePage) << "the bytes did cross the link";
  EXPECT_EQ(host().usage().used, Bytes());
  run->quiet = Epoch(5);
  take_all(*run);
}

TEST_F(PageMovesTest, AStretchThatCannotBeUnmappedDoesNotBlockOthers) {
  auto first = resident_run({0, 1});
  auto second = resident_run({0, 2});
  first->live.store(0);
  second->live.store(0);
  const PageRef both[] = {{first.get(), 0}, {second.get(), 0}, {second.get(), 1}};
  fail(DriverCall::kUnmap, 1);
  EXPECT_EQ(moves().mover.vacate(both).code(), Code::kDriver);
  // Stretches are processed in address order.
  tessera::Run& kept = first->address < second->address ? *first : *second;
  tessera::Run& gone = first->address < second->address ? *second : *first;
  EXPECT_EQ(kept.missing.load(), 0U);
  EXPECT_EQ(gone.missing.load(), gone.shape.pages());
  EXPECT_EQ(validate_run(kept).to_string(), "ok");
  EXPECT_EQ(validate_run(gone).to_string(), "ok");
  take_all(kept);
}

TEST_F(PageMovesTest, AnEvictingPageThatCannotBeUnmappedIsForwarded) {
  auto run = resident_run({0, 1});
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  fail(DriverCall::kUnmap, 1);
  EXPECT_EQ(moves().mover.vacate(pages(*run)).code(), Code::kDriver);
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(run->missing.load(), 0U);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
