#include "residency/pages/page_mover.hpp"

#include "page_mover_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMoverTest, MountingAnEmptyPageNeedsNoCopy) {
  auto run = make_run({0, 2});
  ASSERT_OK(mover().mount(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(stats().bytes_in, Bytes());
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), 1U) << "one call for a stretch";
  take_all(*run);
}

TEST_F(PageMoverTest, MountingStopsWhereTheFramesEnd) {
  auto run = make_run({0, 6});  // the device has four
  EXPECT_EQ(mover().mount(pages(*run)).code(), Code::kOutOfMemory);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  take_all(*run);
}

TEST_F(PageMoverTest, AMountThatFailsIsUndone) {
  auto run = make_run({0, 2});
  for (DriverCall call : {DriverCall::kCreateFrame, DriverCall::kMap, DriverCall::kSetAccess}) {
    fail(call, 1);
    EXPECT_EQ(mover().mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->missing.load(), 2U);
    EXPECT_EQ(device().usage().used, Bytes());
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  ASSERT_OK(mover().mount(pages(*run)));
  take_all(*run);
}

TEST_F(PageMoverTest, RetriesAccessThatIsNotReady) {
  auto run = make_run({0, 1});
  fault().fail({DriverCall::kSetAccess, 1, Status(Code::kNotReady, "not now", 600)});
  EXPECT_OK(mover().mount(pages(*run)));
  fault().clear();
  take_all(*run);
}

TEST_F(PageMoverTest, AccessThatIsNeverReadyIsAnErrorInTheEnd) {
  auto run = make_run({0, 1});
  fault().fail({DriverCall::kSetAccess, 1, Status(Code::kNotReady, "not now", 600), true});
  EXPECT_EQ(mover().mount(pages(*run)).code(), Code::kNotReady);
  fault().clear();
  EXPECT_EQ(device().usage().used, Bytes());
}

TEST_F(PageMoverTest, EvictsAndFetchesAPageWithItsBytes) {
  auto run = resident_run({0, 1});
  fill(*run, 7);
  start_eviction(*run);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_EQ(stats().evictions, 1U);
  ASSERT_OK(mover().mount(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kFetching);
  EXPECT_EQ(run->missing.load(), 1U) << "its bytes are not there yet";
  EXPECT_TRUE(mover().finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_TRUE(PageMover::is_clean({run.get(), 0})) << "the host copy is still valid";
  take_all(*run);
}

TEST_F(PageMoverTest, ACopyThatCannotBeRecordedIsWaitedFor) {
  auto run = resident_run({0, 1});
  // Two events are recorded around a timed copy, and are optional.
  fail(DriverCall::kRecordEvent, 3);
  EXPECT_EQ(copy_out({run.get(), 0}).code(), Code::kDriver);
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(host().usage().used, Bytes());
  start_eviction(*run);
  fail(DriverCall::kRecordEvent, 3);
  EXPECT_EQ(mover().mount(pages(*run)).code(), Code::kDriver);  // the simulator refuses too early
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  EXPECT_OK(mover().discard({run.get(), 0}));
}

TEST_F(PageMoverTest, RetriesAFailedWait) {
  auto run = resident_run({0, 1});
  run->pages[0].copied = 1;
  ASSERT_OK(copy_out({run.get(), 0}));
  fail(DriverCall::kSynchronizeEvent, 1);
  EXPECT_TRUE(mover().copied_out({run.get(), 0}, true).take());
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_OK(mover().discard({run.get(), 0}));
}

TEST_F(PageMoverTest, APageUsedSinceItsCopyIsForwarded) {
  auto run = resident_run({0, 1});
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(mover().copied_out({run.get(), 0}, true).take());
  run->used.store(5);
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(stats().forwards, 1U);
  EXPECT_EQ(stats().bytes_out, kBasePage) << "the bytes did cross the link";
  EXPECT_EQ(host().usage().used, Bytes());
  run->quiet = 5;
  take_all(*run);
}

TEST_F(PageMoverTest, ACopyFromBeforeTheLastWriteIsNotTakenForThePage) {
  auto run = resident_run({0, 1});
  run->pages[0].copied = 3;
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(mover().copied_out({run.get(), 0}, true).take());
  run->used.store(5);
  run->written.store(5);
  run->quiet = 5;  // another page of the run was copied later
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  take_all(*run);
}

TEST_F(PageMoverTest, AHeldAPinnedAndADirtyPageStay) {
  auto run = resident_run({0, 1});
  run->holds.store(1);
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  run->holds.store(0);
  run->pins.store(1);
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  run->pins.store(0);
  run->live.store(1);
  ASSERT_OK(mover().vacate(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U) << "it has no copy";
  take_all(*run);
}

TEST_F(PageMoverTest, AStretchThatCannotBeUnmappedDoesNotBlockOthers) {
  auto first = resident_run({0, 1});
  auto second = resident_run({0, 2});
  first->live.store(0);
  second->live.store(0);
  const PageRef both[] = {{first.get(), 0}, {second.get(), 0}, {second.get(), 1}};
  fail(DriverCall::kUnmap, 1);
  EXPECT_EQ(mover().vacate(both).code(), Code::kDriver);
  // Stretches are processed in address order.
  tessera::Run& kept = first->address < second->address ? *first : *second;
  tessera::Run& gone = first->address < second->address ? *second : *first;
  EXPECT_EQ(kept.missing.load(), 0U);
  EXPECT_EQ(gone.missing.load(), gone.shape.pages());
  EXPECT_EQ(validate_run(kept).to_string(), "ok");
  EXPECT_EQ(validate_run(gone).to_string(), "ok");
  take_all(kept);
}

TEST_F(PageMoverTest, AnEvictingPageThatCannotBeUnmappedIsForwarded) {
  auto run = resident_run({0, 1});
  ASSERT_OK(copy_out({run.get(), 0}));
  ASSERT_TRUE(mover().copied_out({run.get(), 0}, true).take());
  fail(DriverCall::kUnmap, 1);
  EXPECT_EQ(mover().vacate(pages(*run)).code(), Code::kDriver);
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_EQ(run->missing.load(), 0U);
  take_all(*run);
}

TEST_F(PageMoverTest, AnIllegalStepIsAnError) {
  auto run = make_run({0, 1});
  EXPECT_EQ(mover().discard({run.get(), 0}).code(), Code::kInternal);
}

// ---- large pages on whole frames and on joined ones --------------------------------------------

// The device has room for two large pages, or thirty-two base pages.
class PageMoverLargePages : public PageMoverTest {
 protected:
  PageMoverLargePages() : PageMoverTest({.device = 64_MiB, .host = 96_MiB, .sim = {.memory = 64_MiB}}) {}

  std::unique_ptr<tessera::Run> filled(RunShape shape, std::uint8_t value) {
    auto run = resident_run(shape);
    fill(*run, value);
    return run;
  }
  static int last_byte(const tessera::Run& run) {
    return *reinterpret_cast<const unsigned char*>((run.address + (run.shape.bytes() - 1_B)).value());
  }
};

TEST_F(PageMoverLargePages, FetchesALargePageIntoSpareFrames) {
  auto other = resident_run({1, 0});
  auto base = resident_run({0, 16});
  take_all(*base);
  const std::uint64_t created = fault().calls(DriverCall::kCreateFrame);
  auto run = filled({1, 0}, 7);
  EXPECT_TRUE(run->pages[0].device->joined) << "sixteen base frames are spare, no large one is";
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  start_eviction(*run);
  take_all(*other);
  const std::uint64_t mapped = fault().calls(DriverCall::kMap);
  ASSERT_OK(mover().mount(pages(*run)));
  EXPECT_FALSE(run->pages[0].device->joined) << "a large one is spare by now";
  EXPECT_EQ(fault().calls(DriverCall::kMap), mapped + 1);
  ASSERT_TRUE(mover().finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(last_byte(*run), 7);
  EXPECT_EQ(stats().bytes_out, kLargePage);
  EXPECT_EQ(stats().bytes_in, kLargePage);
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), created);
  EXPECT_EQ(fault().calls(DriverCall::kDestroyFrame), 0U);
  take_all(*run);
}

TEST_F(PageMoverLargePages, MapsAndUnmapsJoinedFramesInOneCall) {
  take_all(*resident_run({0, 32}));
  auto run = filled({2, 0}, 3);
  const std::uint64_t access = fault().calls(DriverCall::kSetAccess);
  EXPECT_TRUE(run->pages[0].device->joined);
  EXPECT_TRUE(run->pages[1].device->joined);
  start_eviction(*run);
  EXPECT_EQ(fault().calls(DriverCall::kUnmap), 2U) << "one of the base pages, one of these";
  ASSERT_OK(mover().mount(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), access + 1);
  for (const PageRef& page : pages(*run)) ASSERT_TRUE(mover().finish_fetch(page, true).take());
  EXPECT_EQ(first_byte(*run), 3);
  EXPECT_EQ(last_byte(*run), 3);
  take_all(*run);
}

TEST_F(PageMoverLargePages, APartlyFailedMapIsUndone) {
  auto other = resident_run({1, 0});
  take_all(*resident_run({0, 16}));
  auto run = make_run({1, 0});
  for (const std::uint64_t nth : {1U, 9U, 16U}) {
    fail(DriverCall::kMap, nth);
    EXPECT_EQ(mover().mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->missing.load(), 1U);
    EXPECT_EQ(device().usage().used, kLargePage) << "the other run's";
    EXPECT_EQ(device().usage().spare, kLargePage);
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  ASSERT_OK(mover().mount(pages(*run)));
  take_all(*run);
  take_all(*other);
}

}  // namespace
}  // namespace tessera
