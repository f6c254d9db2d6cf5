// Pages that are unmapped first and copied afterwards, step by step.
#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PagePartingsTest : public PageMovesTest {
 protected:
  // On the device, written, and last used at epoch 1.
  std::unique_ptr<tessera::Run> used_run(RunShape shape = {0, 2}) {
    auto run = resident_run(shape);
    run->used.store(Epoch(1));
    run->written.store(Epoch(1));
    fill(*run, 7);
    EXPECT_TRUE(moves().mappings.open_aliases(pages(*run)));
    for (const PageRef& page : pages(*run)) page->copy.epoch = Epoch(1);
    return run;
  }
  void part_all(tessera::Run& run) {
    EXPECT_EQ(moves().partings.begin(pages(run), Location::kHost).take(), run.shape.pages());
  }
  void take_all_apart(tessera::Run& run) {
    part_all(run);
    ASSERT_OK(moves().partings.unmap(pages(run)));
    expect_all(run, PageState::kApart);
  }
  static void expect_all(const tessera::Run& run, PageState state) {
    EXPECT_EQ(run.bytes_in(state), run.shape.bytes()) << name_of(state);
    EXPECT_EQ(validate_run(run).to_string(), "ok");
  }
  void end(tessera::Run& run) {
    run.quiet = run.used.load();
    for (const PageRef& page : pages(run)) {
      if (is_apart(page->state)) EXPECT_OK(moves().partings.give_up(page));
    }
    moves().forget(run);
    take_all(run);
  }
};

TEST_F(PagePartingsTest, PagesAreUnmappedThenCopiedThenCold) {
  auto run = used_run();
  part_all(*run);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(moves().ledger.evicting_bytes(), 4_MiB);
  EXPECT_EQ(moves().ledger.copying_out(), Bytes());
  ASSERT_OK(moves().partings.unmap(pages(*run)));
  EXPECT_EQ(run->missing.load(), 2U);
  ASSERT_OK(moves().partings.copy(pages(*run)));
  expect_all(*run, PageState::kApartEvicting);
  EXPECT_EQ(device().usage().used, 4_MiB);
  for (const PageRef& page : pages(*run)) {
    EXPECT_TRUE(moves().links.is_done(page, true).take());
    ASSERT_OK(moves().partings.evict(page));
    EXPECT_EQ(static_cast<const unsigned char*>(HostTier::bytes_of(*page->host))[0], 7);
  }
  expect_all(*run, PageState::kCold);
  EXPECT_EQ(device().usage().used, Bytes());
  EXPECT_EQ(stats().evictions, 2U);
  end(*run);
}

TEST_F(PagePartingsTest, APageUsedSinceStaysWithoutACopy) {
  auto run = used_run();
  part_all(*run);
  run->used.store(Epoch(2));
  ASSERT_OK(moves().partings.unmap(pages(*run)));
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(host().usage().used, Bytes());
  EXPECT_EQ(run->missing.load(), 0U);
  end(*run);
}

TEST_F(PagePartingsTest, AHeldPageStays) {
  auto run = used_run();
  part_all(*run);
  run->holds.store(1);
  ASSERT_OK(moves().partings.unmap(pages(*run)));
  expect_all(*run, PageState::kResident);
  run->holds.store(0);
  end(*run);
}

TEST_F(PagePartingsTest, ADeadPageIsDiscarded) {
  auto run = used_run();
  part_all(*run);
  run->live.store(0);
  ASSERT_OK(moves().partings.unmap(pages(*run)));
  expect_all(*run, PageState::kEmpty);
  EXPECT_EQ(host().usage().used, Bytes());
  end(*run);
}

// Neither copied nor mapped again: the frame keeps the bytes until one of the two succeeds.
TEST_F(PagePartingsTest, APageThatCannotBeRemappedStaysApart) {
  for (const DriverCall call : {DriverCall::kMap, DriverCall::kSetAccess}) {
    for (const std::uint64_t nth : {std::uint64_t{1}, std::uint64_t{2}}) {
      if (call == DriverCall::kSetAccess && nth == 2) continue;  // a single stretch
      auto run = used_run();
      take_all_apart(*run);
      for (const PageRef& page : pages(*run)) moves().copies.drop_host(page);
      fail(call, nth);
      EXPECT_FALSE(moves().partings.bring_back(pages(*run)).is_ok());
      expect_all(*run, PageState::kApart);
      ASSERT_OK(moves().partings.bring_back(pages(*run)));
      expect_all(*run, PageState::kResident);
      EXPECT_EQ(first_byte(*run), 7);
      end(*run);
    }
  }
}

TEST_F(PagePartingsTest, APageThatCannotBeCopiedIsRemapped) {
  auto run = used_run({0, 1});
  const std::uint64_t frame = run->pages[0].device->value;
  take_all_apart(*run);
  fail(DriverCall::kCopyOut, 1);
  EXPECT_FALSE(moves().partings.copy(pages(*run)).is_ok());
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(run->pages[0].device->value, frame);
  EXPECT_EQ(host().usage().used, Bytes());
  EXPECT_EQ(first_byte(*run), 7);
  end(*run);
}

TEST_F(PagePartingsTest, ARecalledPageIsForwardedAfterItsCopyEvenIfUnused) {
  auto run = used_run();
  take_all_apart(*run);
  ASSERT_OK(moves().partings.copy(pages(*run)));
  ASSERT_OK(moves().partings.bring_back(pages(*run)));
  expect_all(*run, PageState::kEvicting);
  EXPECT_EQ(run->missing.load(), 0U);
  for (const PageRef& page : pages(*run)) EXPECT_TRUE(moves().links.is_done(page, true).take());
  run->quiet = Epoch(1);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  expect_all(*run, PageState::kResident);
  EXPECT_EQ(stats().forwards, 2U);
  EXPECT_EQ(host().usage().used, Bytes());
  end(*run);
}

TEST_F(PagePartingsTest, StopsTryingSecondMappingsAfterFailures) {
  auto run = resident_run({0, 1});
  fault().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), true});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(moves().mappings.open_aliases(pages(*run)));
  EXPECT_LT(fault().failed(), 20U);
  fault().clear();
  end(*run);
}

}  // namespace
}  // namespace tessera
