// Pages that are copied first and mapped afterwards, step by step.
#include "residency/pages/page_arrivals.hpp"

#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PageArrivalsTest : public PageMovesTest {
 protected:
  // Two pages in host memory, with contents.
  std::unique_ptr<tessera::Run> filled_cold_run() {
    auto run = resident_run({0, 2});
    fill(*run, 7);
    start_eviction(*run);
    expect_all(*run, PageState::kCold);
    return run;
  }
  void await_copies(tessera::Run& run) {
    for (const PageRef& page : pages(run)) EXPECT_TRUE(moves().links.is_done(page, true).take());
  }
  static void expect_all(const tessera::Run& run, PageState state) {
    EXPECT_EQ(run.bytes_in(state), run.shape.bytes()) << name_of(state);
    EXPECT_EQ(validate_run(run).to_string(), "ok");
  }
  void end(tessera::Run& run) {
    moves().forget(run);
    take_all(run);
    EXPECT_EQ(device().usage().used, Bytes());
    EXPECT_EQ(host().usage().used, Bytes());
  }
};

TEST_F(PageArrivalsTest, PagesAreCopiedThenMapped) {
  auto run = filled_cold_run();
  const std::uint64_t maps = fault().calls(DriverCall::kMap);
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  expect_all(*run, PageState::kApartFetching);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_TRUE(run->is_fetching());
  EXPECT_EQ(moves().ledger.arriving_bytes(), 4_MiB);
  EXPECT_EQ(device().usage().used, 4_MiB);
  await_copies(*run);
  EXPECT_EQ(fault().calls(DriverCall::kMap), maps + 2) << "at the second address of each frame alone";
  ASSERT_OK(moves().arrivals.land(pages(*run)));
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(stats().fetches, 2U);
  EXPECT_EQ(moves().ledger.arriving_bytes(), Bytes());
  end(*run);
}

TEST_F(PageArrivalsTest, AnAnnouncedUseMapsThemDuringTheCopy) {
  auto run = filled_cold_run();
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  ASSERT_OK(moves().partings.bring_back(pages(*run)));
  expect_all(*run, PageState::kFetching);
  for (const PageRef& page : pages(*run)) EXPECT_TRUE(moves().mover.finish_fetch(page, true).take());
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(stats().fetches, 2U);
  end(*run);
}

TEST_F(PageArrivalsTest, WithoutASecondMappingPagesAreMappedAtOnce) {
  auto run = filled_cold_run();
  fault().fail({DriverCall::kReserve, 1, Status(Code::kDriver, "injected", 999), true});
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  fault().clear();
  expect_all(*run, PageState::kFetching);
  for (const PageRef& page : pages(*run)) EXPECT_TRUE(moves().mover.finish_fetch(page, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  end(*run);
}

TEST_F(PageArrivalsTest, PagesThatCannotBeCopiedStayCold) {
  for (const DriverCall call : {DriverCall::kCopyAll, DriverCall::kRecordEvent}) {
    auto run = filled_cold_run();
    fail(call, call == DriverCall::kRecordEvent ? 3 : 1);  // two are recorded around timed copies
    EXPECT_FALSE(moves().arrivals.begin(pages(*run)).is_ok());
    fault().clear();
    expect_all(*run, PageState::kCold);
    EXPECT_EQ(device().usage().used, Bytes());
    ASSERT_OK(moves().arrivals.begin(pages(*run)));
    await_copies(*run);
    ASSERT_OK(moves().arrivals.land(pages(*run)));
    EXPECT_EQ(first_byte(*run), 7);
    end(*run);
  }
}

TEST_F(PageArrivalsTest, WithoutAFrameForTheSecondTheFirstComes) {
  auto run = filled_cold_run();
  auto others = resident_run({0, 3});
  EXPECT_EQ(moves().arrivals.begin(pages(*run)).code(), Code::kOutOfMemory);
  EXPECT_EQ(run->pages[0].state, PageState::kApartFetching);
  EXPECT_EQ(run->pages[1].state, PageState::kCold);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  const PageRef first{run.get(), 0};
  EXPECT_TRUE(moves().links.is_done(first, true).take());
  ASSERT_OK(moves().arrivals.land({&first, 1}));
  take_all(*others);
  end(*run);
}

// Their copies in host memory are kept until they are mapped.
TEST_F(PageArrivalsTest, PagesThatCannotBeMappedAreColdAgain) {
  auto run = filled_cold_run();
  run->prefetch.requested = true;
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  await_copies(*run);
  fault().fail({DriverCall::kSetAccess, 1, Status(Code::kDriver, "injected", 999), true});
  EXPECT_FALSE(moves().arrivals.land(pages(*run)).is_ok());
  fault().clear();
  expect_all(*run, PageState::kCold);
  EXPECT_FALSE(run->prefetch.requested);
  EXPECT_EQ(device().usage().used, Bytes());
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  await_copies(*run);
  ASSERT_OK(moves().arrivals.land(pages(*run)));
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(first_byte(*run), 7);
  end(*run);
}

TEST_F(PageArrivalsTest, PagesThatCannotBeMappedTogetherAreMappedOneByOne) {
  for (const std::uint64_t nth : {std::uint64_t{1}, std::uint64_t{2}}) {
    auto run = filled_cold_run();
    ASSERT_OK(moves().arrivals.begin(pages(*run)));
    await_copies(*run);
    fail(DriverCall::kMap, nth);
    ASSERT_OK(moves().arrivals.land(pages(*run)));
    EXPECT_EQ(fault().failed(), 1U);
    fault().clear();
    expect_all(*run, PageState::kResident);
    EXPECT_EQ(first_byte(*run), 7);
    end(*run);
  }
}

TEST_F(PageArrivalsTest, ADeadRunsFramesAreGivenBack) {
  auto run = filled_cold_run();
  ASSERT_OK(moves().arrivals.begin(pages(*run)));
  await_copies(*run);
  run->live.store(0);
  for (const PageRef& page : pages(*run)) ASSERT_OK(moves().partings.give_up(page));
  expect_all(*run, PageState::kEmpty);
  end(*run);
}

}  // namespace
}  // namespace tessera
