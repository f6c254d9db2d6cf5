#include "residency/pages/page_mover.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, MountingAnEmptyPageNeedsNoCopy) {
  auto run = make_run({0, 2});
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(stats().bytes_in, Bytes());
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), 1U) << "one call for a stretch";
  take_all(*run);
}

TEST_F(PageMovesTest, MountingStopsWhereTheFramesEnd) {
  auto run = make_run({0, 6});  // the device has four
  EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kOutOfMemory);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  take_all(*run);
}

TEST_F(PageMovesTest, AMountThatFailsIsUndone) {
  auto run = make_run({0, 2});
  for (DriverCall call : {DriverCall::kCreateFrame, DriverCall::kMap, DriverCall::kSetAccess}) {
    fail(call, 1);
    EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->missing.load(), 2U);
    EXPECT_EQ(device().usage().used, Bytes());
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  ASSERT_OK(moves().mover.mount(pages(*run)));
  take_all(*run);
}

TEST_F(PageMovesTest, EvictsAndFetchesAPageWithItsBytes) {
  auto run = resident_run({0, 1});
  fill(*run, 7);
  start_eviction(*run);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_EQ(stats().evictions, 1U);
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kFetching);
  EXPECT_EQ(run->missing.load(), 1U) << "its bytes are not there yet";
  EXPECT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_TRUE(is_clean(*run, run->pages[0])) << "the host copy is still valid";
  take_all(*run);
}

TEST_F(PageMovesTest, ACopyThatCannotBeRecordedIsWaitedFor) {
  auto run = resident_run({0, 1});
  // Two events are recorded around a timed copy, and are optional.
  fail(DriverCall::kRecordEvent, 3);
  EXPECT_EQ(copy_out({run.get(), 0}).code(), Code::kDriver);
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(host().usage().used, Bytes());
  start_eviction(*run);
  fail(DriverCall::kRecordEvent, 3);
  EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kDriver);  // the simulator refuses too early
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  EXPECT_OK(moves().releases.discard({run.get(), 0}));
}

TEST_F(PageMovesTest, RetriesAFailedWait) {
  auto run = resident_run({0, 1});
  run->pages[0].copy.epoch = Epoch(1);
  ASSERT_OK(copy_out({run.get(), 0}));
  fail(DriverCall::kSynchronizeEvent, 1);
  EXPECT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_OK(moves().releases.discard({run.get(), 0}));
}

TEST_F(PageMovesTest, ACopyFromBeforeTheLastWriteIsNotTakenForThePage) {
  auto run = resident_run({0, 1});
  run->pages[0].copy.epoch = Epoch(3);
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  run->used.store(Epoch(5));
  run->written.store(Epoch(5));
  run->quiet = Epoch(5);  // another page of the run was copied later
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  take_all(*run);
}

TEST_F(PageMovesTest, AHeldAPinnedAndADirtyPageStay) {
  auto run = resident_run({0, 1});
  run->holds.store(1);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  run->holds.store(0);
  run->pins.store(1);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  run->pins.store(0);
  run->live.store(1);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U) << "it has no copy";
  take_all(*run);
}

}  // namespace
}  // namespace tessera
