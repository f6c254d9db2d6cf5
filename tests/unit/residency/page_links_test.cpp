#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

// Eight base pages fit; four are moved together.
class PageLinksTest : public PageMovesTest {
 protected:
  explicit PageLinksTest(bool copies_at_once = true)
      : PageMovesTest({.device = 16_MiB,
                       .host = 12_MiB,
                       .staging = 4_MiB,
                       .sim = {.memory = 16_MiB, .copies_at_once = copies_at_once}}) {}

  // Each page with its own byte value.
  std::unique_ptr<tessera::Run> numbered(std::uint32_t count) {
    auto run = resident_run({0, count});
    for (std::uint32_t i = 0; i < count; ++i) byte_of(*run, i) = static_cast<unsigned char>(i + 1);
    return run;
  }
  static unsigned char& byte_of(const tessera::Run& run, std::uint32_t page) {
    return *reinterpret_cast<unsigned char*>((run.page_address(page) + 5_B).value());
  }
  // All of them are copied out, batch by batch.
  void leave_together(tessera::Run& run) {
    const auto all = pages(run);
    for (std::span<const PageRef> rest = all; !rest.empty();) {
      rest = rest.subspan(moves().mover.copy_out(rest.first(moves().links.batch_of(rest)), Location::kHost).take());
    }
    for (const PageRef& page : all) ASSERT_TRUE(moves().links.is_done(page, true).take());
    ASSERT_OK(moves().mover.vacate(all));
  }
  void arrive(tessera::Run& run) {
    ASSERT_OK(moves().mover.mount(pages(run)));
    for (const PageRef& page : pages(run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  }
  void expect_numbers(const tessera::Run& run) {
    for (std::uint32_t i = 0; i < run.shape.pages(); ++i) EXPECT_EQ(byte_of(run, i), i + 1);
    EXPECT_EQ(validate_run(run).to_string(), "ok");
  }
  std::uint64_t calls(DriverCall call) { return fault().calls(call); }
};

class PageLinksOneByOne : public PageLinksTest {
 protected:
  PageLinksOneByOne() : PageLinksTest(false) {}
};

TEST_F(PageLinksTest, CopiesSmallPagesInBatchesOfFour) {
  auto run = numbered(6);
  leave_together(*run);
  EXPECT_EQ(calls(DriverCall::kCopyAll), 2U) << "four pages, and two";
  arrive(*run);
  EXPECT_EQ(calls(DriverCall::kCopyAll), 4U);
  EXPECT_EQ(calls(DriverCall::kCopyOut) + calls(DriverCall::kCopyIn), 0U);
  EXPECT_EQ(stats().bytes_out, kBasePage * 6);
  EXPECT_EQ(stats().bytes_in, kBasePage * 6);
  expect_numbers(*run);
  take_all(*run);
}

TEST_F(PageLinksTest, APageAloneIsAnOrdinaryCopy) {
  auto run = numbered(1);
  start_eviction(*run);
  arrive(*run);
  EXPECT_EQ(calls(DriverCall::kCopyAll), 0U);
  expect_numbers(*run);
  take_all(*run);
}

// Pages of one batch share an event: it must not be recorded again while one of them waits for it.
TEST_F(PageLinksTest, AnEventIsReusedAfterItsLastPage) {
  auto first = numbered(3);
  auto second = numbered(2);
  const auto pages_of_first = pages(*first);
  ASSERT_EQ(moves().mover.copy_out(pages_of_first, Location::kHost).take(), 3U);
  const EventId shared = first->pages[0].transfer.event;
  EXPECT_EQ(first->pages[2].transfer.event, shared);
  for (const PageRef& page : pages_of_first) ASSERT_TRUE(moves().links.is_done(page, true).take());
  ASSERT_OK(moves().mover.vacate(std::span(pages_of_first).first(2)));
  ASSERT_EQ(moves().mover.copy_out(pages(*second), Location::kHost).take(), 2U);
  EXPECT_NE(second->pages[0].transfer.event, shared) << "the third page is leaving yet";
  ASSERT_OK(moves().mover.vacate(std::span(pages_of_first).subspan(2)));
  for (const PageRef& page : pages(*second)) ASSERT_TRUE(moves().links.is_done(page, true).take());
  ASSERT_OK(moves().mover.vacate(pages(*second)));
  arrive(*first);
  arrive(*second);
  expect_numbers(*first);
  expect_numbers(*second);
  take_all(*first);
  take_all(*second);
}

// The budget has six frames, the staging reserve two.
TEST_F(PageLinksTest, CopiesOutAsManyAsHasHostFramesAndOneAtATimeThroughTheReserve) {
  auto first = numbered(4);
  leave_together(*first);
  auto second = numbered(4);
  auto third = numbered(2);
  const auto all = pages(*second);
  for (const std::size_t expected : {2U, 1U, 1U}) {
    const auto rest = std::span(all).subspan(second->bytes_in(PageState::kEvicting) / kBasePage);
    EXPECT_EQ(moves().mover.copy_out(rest, Location::kHost).take(), expected);
  }
  EXPECT_NE(second->pages[2].transfer.event, second->pages[3].transfer.event);
  EXPECT_EQ(moves().mover.copy_out(pages(*third), Location::kHost).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(third->bytes_in(PageState::kResident), kBasePage * 2);
  for (const PageRef& page : all) ASSERT_TRUE(moves().links.is_done(page, true).take());
  ASSERT_OK(moves().mover.vacate(all));
  for (auto* run : {first.get(), second.get()}) {
    for (const PageRef& page : pages(*run)) EXPECT_OK(moves().releases.discard(page));
  }
  take_all(*third);
}

TEST_F(PageLinksTest, APageThatFoundNoFrameIsNotTakenForCopied) {
  auto held = numbered(5);
  leave_together(*held);
  auto run = numbered(2);
  leave_together(*run);  // the first one into the last frame of the budget
  arrive(*run);
  const PageRef with_copy{run.get(), 0}, other{run.get(), 1};
  ASSERT_TRUE(is_clean(*with_copy.run, *with_copy));
  run->written.store(Epoch(3));
  run->pages[0].copy.epoch = run->pages[1].copy.epoch = Epoch(3);
  const PageRef batch[] = {other, with_copy};
  ASSERT_EQ(moves().mover.copy_out(batch, Location::kHost).take(), 1U);
  EXPECT_EQ(with_copy->state, PageState::kResident);
  EXPECT_FALSE(is_clean(*with_copy.run, *with_copy)) << "what it had was an old copy";
  ASSERT_TRUE(moves().links.is_done(other, true).take());
  run->quiet = Epoch(3);
  take_all(*run);
  for (const PageRef& page : pages(*held)) EXPECT_OK(moves().releases.discard(page));
}

TEST_F(PageLinksTest, MemoryThatCouldNotBePinnedIsCopiedToOneByOne) {
  auto run = numbered(4);
  fail(DriverCall::kRegisterHost, 1);
  leave_together(*run);
  arrive(*run);
  EXPECT_EQ(fault().failed(), 1U);
  EXPECT_EQ(calls(DriverCall::kCopyAll), 0U);
  EXPECT_EQ(calls(DriverCall::kCopyIn), 4U);
  expect_numbers(*run);
  take_all(*run);
}

TEST_F(PageLinksTest, AFailedBatchChangesNoPage) {
  auto run = numbered(4);
  for (DriverCall call : {DriverCall::kCopyAll, DriverCall::kRecordEvent}) {
    // Two events are recorded around timed copies, and are optional.
    fail(call, call == DriverCall::kRecordEvent ? 3 : 1);
    EXPECT_EQ(moves().mover.copy_out(pages(*run), Location::kHost).status().code(), Code::kDriver);
    EXPECT_EQ(run->bytes_in(PageState::kResident), kBasePage * 4);
    EXPECT_EQ(host().usage().used, Bytes());
  }
  fault().clear();
  leave_together(*run);
  for (DriverCall call : {DriverCall::kCopyAll, DriverCall::kRecordEvent}) {
    fail(call, call == DriverCall::kRecordEvent ? 3 : 1);
    EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->bytes_in(PageState::kCold), kBasePage * 4);
    EXPECT_EQ(device().usage().used, Bytes());
  }
  fault().clear();
  arrive(*run);
  expect_numbers(*run);
  take_all(*run);
}

TEST_F(PageLinksOneByOne, TriesBatchCopiesOnce) {
  auto run = numbered(6);
  leave_together(*run);
  arrive(*run);
  EXPECT_EQ(calls(DriverCall::kCopyAll), 1U);
  EXPECT_EQ(calls(DriverCall::kCopyOut), 6U);
  EXPECT_EQ(calls(DriverCall::kCopyIn), 6U);
  expect_numbers(*run);
  take_all(*run);
}

class LargePageLinks : public PageMovesTest {
 protected:
  LargePageLinks() : PageMovesTest({.device = 96_MiB, .host = 96_MiB, .sim = {.memory = 96_MiB}}) {}
};

TEST_F(LargePageLinks, LargePagesAreNotBatched) {
  auto run = resident_run({2, 3});
  const auto all = pages(*run);
  EXPECT_EQ(moves().links.batch_of(all), 1U);
  EXPECT_EQ(moves().links.batch_of(std::span(all).subspan(2)), 3U);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
