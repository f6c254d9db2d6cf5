// Fingerprints of copies and pages, step by step.
#include <gtest/gtest.h>

#include <utility>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PageChecksTest : public PageMovesTest {
 protected:
  // A link that is slow compared with any machine's host memory: 21 ms for a page.
  PageChecksTest()
      : PageMovesTest({.device = 8_MiB,
                       .host = 8_MiB,
                       .staging = 4_MiB,
                       .file = 8_MiB,
                       .sim = {.memory = 64_MiB, .outbound = {100'000'000, {}}}}) {}

  void end(tessera::Run& run) {
    run.quiet = run.used.load();
    moves().forget(run);
    take_all(run);
  }
  // As launches do: a use at this epoch that may have written.
  static void use(tessera::Run& run, Epoch epoch) {
    run.used.store(epoch);
    run.written.store(epoch);
  }
  // Copied out with a fingerprint, and fetched, with a use before the copy in has ended.
  void leave_and_return(tessera::Run& run, Epoch epoch) {
    for (const PageRef& page : pages(run)) {
      moves().checks.plan_fingerprint(page);
      page->copy.epoch = epoch.previous();
    }
    run.quiet = epoch.previous();
    start_eviction(run);
    come_back(run, epoch);
  }
  void come_back(tessera::Run& run, Epoch epoch) {
    ASSERT_OK(moves().mover.mount(pages(run)));
    use(run, epoch);
    for (const PageRef& page : pages(run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  }
  // Whether the pages equal their copies.
  bool ask(tessera::Run& run, Epoch epoch) {
    const auto all = pages(run);
    for (const PageRef& page : all) page->eviction.asked = epoch;
    EXPECT_EQ(moves().checks.begin(all), all.size());
    bool same = true;
    for (const PageRef& page : all) {
      EXPECT_EQ(page->state, PageState::kChecking);
      EXPECT_EQ(validate_run(run).to_string(), "ok");
      EXPECT_TRUE(moves().checks.finish(page, true).take());
      EXPECT_EQ(page->state, PageState::kResident);
      same = same && page->copy.epoch == epoch;
    }
    EXPECT_EQ(validate_run(run).to_string(), "ok");
    return same;
  }
};

TEST_F(PageChecksTest, AnUnchangedPageIsCleanAndEvictedWithoutACopy) {
  auto run = resident_run({0, 2});
  fill(*run, 7);
  leave_and_return(*run, Epoch(2));
  for (const PageRef& page : pages(*run)) {
    EXPECT_FALSE(is_clean(*page.run, *page));
    EXPECT_TRUE(moves().checks.is_worthwhile(page, Location::kHost));
  }
  EXPECT_EQ(moves().copies.candidate_bytes(), 4_MiB);
  EXPECT_TRUE(ask(*run, Epoch(2)));
  run->quiet = Epoch(2);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  for (const PageRef& page : pages(*run)) EXPECT_EQ(page->state, PageState::kCold);
  EXPECT_EQ(moves().copies.candidate_bytes(), Bytes());
  EXPECT_EQ(stats().bytes_out, 4_MiB) << "the first time";
  EXPECT_EQ(stats().checks, 2U);
  EXPECT_EQ(stats().checks_changed, 0U);
  EXPECT_EQ(stats().unchanged_evictions, 2U);
  EXPECT_EQ(stats().unchanged_bytes, 4_MiB);
  EXPECT_EQ(stats().clean_evictions, 2U);
  // And again, with only the first fingerprint of the copy.
  come_back(*run, Epoch(3));
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_TRUE(ask(*run, Epoch(3)));
  end(*run);
}

TEST_F(PageChecksTest, AChangedPageLosesItsCopy) {
  auto run = resident_run({0, 2});
  fill(*run, 7);
  leave_and_return(*run, Epoch(2));
  const Address last = run->address + (run->shape.bytes() - Bytes(1));
  *reinterpret_cast<unsigned char*>(last.value()) = 8;
  EXPECT_FALSE(ask(*run, Epoch(2)));
  EXPECT_TRUE(run->pages[0].host.has_value());
  EXPECT_TRUE(is_clean(*run, run->pages[0]));
  EXPECT_FALSE(run->pages[1].host.has_value());
  EXPECT_FALSE(moves().checks.is_worthwhile({run.get(), 1}, Location::kHost));
  EXPECT_EQ(stats().checks_changed, 1U);
  run->quiet = Epoch(2);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_EQ(run->pages[1].state, PageState::kResident);
  end(*run);
}

TEST_F(PageChecksTest, APageUsedDuringItsCheckStays) {
  auto run = resident_run({0, 1});
  fill(*run, 7);
  leave_and_return(*run, Epoch(2));
  EXPECT_TRUE(ask(*run, Epoch(2)));
  use(*run, Epoch(3));
  run->quiet = Epoch(2);
  ASSERT_OK(moves().mover.vacate(pages(*run)));
  EXPECT_EQ(run->pages[0].state, PageState::kResident);
  EXPECT_FALSE(is_clean(*run, run->pages[0]));
  EXPECT_TRUE(moves().checks.is_worthwhile({run.get(), 0}, Location::kHost)) << "the copy may be valid yet";
  EXPECT_EQ(stats().unchanged_evictions, 0U);
  end(*run);
}

TEST_F(PageChecksTest, WithoutAFingerprintAStaleCopyIsDropped) {
  auto run = resident_run({0, 1});
  start_eviction(*run);  // no fingerprint was requested
  come_back(*run, Epoch(1));
  EXPECT_FALSE(run->pages[0].host.has_value());
  EXPECT_FALSE(moves().checks.is_worthwhile({run.get(), 0}, Location::kHost));
  EXPECT_EQ(fault().calls(DriverCall::kFingerprint), 0U);
  end(*run);
}

TEST_F(PageChecksTest, AFailedCheckLeavesThePageUnchanged) {
  auto run = resident_run({0, 1});
  fill(*run, 7);
  leave_and_return(*run, Epoch(2));
  // The first two records are those of a stopwatch.
  for (const auto& [call, nth] : {std::pair{DriverCall::kFingerprint, 1}, {DriverCall::kRecordEvent, 3}}) {
    fail(call, static_cast<std::uint64_t>(nth));
    EXPECT_EQ(moves().checks.begin(pages(*run)), 0U) << name_of(call);
    EXPECT_EQ(run->pages[0].state, PageState::kResident);
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  fault().clear();
  EXPECT_TRUE(ask(*run, Epoch(2))) << "and the next time it can";
  end(*run);
}

TEST_F(PageChecksTest, ACopyWithoutAFingerprintIsStillValid) {
  auto run = resident_run({0, 1});
  fill(*run, 7);
  fail(DriverCall::kFingerprint, 1);
  leave_and_return(*run, Epoch(2));
  EXPECT_EQ(stats().evictions, 1U);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_FALSE(run->pages[0].host.has_value()) << "with nothing to compare it is worth nothing";
  end(*run);
}

// More often than there are batches of fingerprints.
TEST_F(PageChecksTest, ForwardedPagesReleaseTheirFingerprints) {
  auto run = resident_run({0, 1});
  const PageRef page{run.get(), 0};
  for (std::uint64_t i = 1; i < 40; ++i) {
    moves().checks.plan_fingerprint(page);
    ASSERT_OK(copy_out(page));
    EXPECT_TRUE(page->fingerprint.is_pending()) << i;
    ASSERT_TRUE(moves().links.is_done(page, true).take());
    use(*run, Epoch(i));
    ASSERT_OK(moves().mover.vacate(pages(*run)));
    EXPECT_EQ(page->state, PageState::kResident);
    EXPECT_FALSE(page->fingerprint.of_copy.has_value());
  }
  EXPECT_EQ(stats().forwards, 39U);
  end(*run);
}

TEST_F(PageChecksTest, DropsCandidatesNewestFirstExceptDuringACheck) {
  auto first = resident_run({0, 1}), second = resident_run({0, 1});
  for (auto* run : {first.get(), second.get()}) {
    fill(*run, 7);
    leave_and_return(*run, Epoch(2));
  }
  EXPECT_EQ(moves().copies.candidate_bytes(), 4_MiB);
  moves().copies.drop_candidates(1_MiB);
  EXPECT_TRUE(first->pages[0].host.has_value());
  EXPECT_FALSE(second->pages[0].host.has_value());
  first->pages[0].eviction.asked = Epoch(2);
  ASSERT_EQ(moves().checks.begin(pages(*first)), 1U);
  moves().copies.drop_candidates(8_MiB);
  EXPECT_TRUE(first->pages[0].host.has_value());
  ASSERT_TRUE(moves().checks.finish({first.get(), 0}, true).take());
  moves().copies.drop_candidates(8_MiB);
  EXPECT_FALSE(first->pages[0].host.has_value());
  EXPECT_EQ(moves().copies.candidate_bytes(), Bytes());
  for (auto* run : {first.get(), second.get()}) {
    end(*run);
  }
}

TEST_F(PageChecksTest, ARemovedRunIsNoCandidate) {
  auto first = resident_run({0, 1}), second = resident_run({0, 1});
  for (auto* run : {first.get(), second.get()}) leave_and_return(*run, Epoch(2));
  end(*second);
  second.reset();
  EXPECT_EQ(moves().copies.candidate_bytes(), 2_MiB);
  moves().copies.drop_candidates(8_MiB);
  EXPECT_FALSE(first->pages[0].host.has_value());
  end(*first);
}

}  // namespace
}  // namespace tessera
