#include <gtest/gtest.h>

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

class PageRecomputesTest : public PageMovesTest {
 protected:
  // Resident, idle, and with a callback.
  std::unique_ptr<DeviceRun> make_recomputable(RunShape shape) {
    auto run = resident_run(shape);
    run->recompute = Recompute{[](StreamId) { return Status(); }, Nanoseconds(1)};
    return run;
  }
  static Bytes in(const DeviceRun& run, PageState state) { return run.bytes_in(state); }
};

TEST_F(PageRecomputesTest, DropsAWholeRunAndRemountsItBlankUntilRecomputed) {
  auto run = make_recomputable({0, 2});
  EXPECT_OK(moves().recomputes.drop(*run));
  EXPECT_EQ(in(*run, PageState::kGone), 4_MiB);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_EQ(device().usage().used, Bytes());
  EXPECT_EQ(stats().dropped_bytes, 4_MiB);
  EXPECT_EQ(stats().bytes_out, Bytes());
  EXPECT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(in(*run, PageState::kBlank), 4_MiB);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_OK(validate_run(*run));
  for (const PageRef& page : pages(*run)) {
    EXPECT_OK(moves().recomputes.await(page, StreamId(0)));
    EXPECT_TRUE(moves().recomputes.finish(page, true).take());
  }
  EXPECT_EQ(in(*run, PageState::kResident), 4_MiB);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(stats().recomputed_bytes, 4_MiB);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageRecomputesTest, DroppingARunDropsItsCopies) {
  auto run = make_recomputable({0, 2});
  EXPECT_OK(copy_out(pages(*run)[0]));
  EXPECT_TRUE(moves().links.is_done(pages(*run)[0], true).take());
  EXPECT_OK(moves().mover.vacate(pages(*run)));
  ASSERT_EQ(in(*run, PageState::kCold), 2_MiB);
  EXPECT_OK(moves().recomputes.drop(*run));
  EXPECT_EQ(in(*run, PageState::kGone), 4_MiB);
  EXPECT_EQ(host().usage().used, Bytes());
  take_all(*run);
}

TEST_F(PageRecomputesTest, DropsNoHeldUsedOrWrittenRun) {
  auto run = make_recomputable({0, 1});
  const auto stays = [&] {
    EXPECT_OK(moves().recomputes.drop(*run));
    EXPECT_OK(validate_run(*run));
    return in(*run, PageState::kResident) == 2_MiB;
  };
  run->holds.store(1);
  EXPECT_TRUE(stays());
  run->holds.store(0);
  run->used.store(Epoch(7));  // after it was seen to be idle
  EXPECT_TRUE(stays());
  run->quiet = Epoch(7);
  run->written.store(Epoch(7));  // after the callback was set
  EXPECT_TRUE(stays());
  run->recompute->written = Epoch(7);
  EXPECT_FALSE(stays());
  take_all(*run);
}

TEST_F(PageRecomputesTest, APageThatCannotBeUnmappedStays) {
  auto run = make_recomputable({0, 2});
  fail(DriverCall::kUnmap, 1);
  EXPECT_FALSE(moves().recomputes.drop(*run).is_ok());
  EXPECT_EQ(in(*run, PageState::kResident), 4_MiB);
  EXPECT_OK(validate_run(*run));
  EXPECT_OK(moves().recomputes.drop(*run));
  EXPECT_EQ(in(*run, PageState::kGone), 4_MiB);
  take_all(*run);
}

TEST_F(PageRecomputesTest, UndoingAMountReturnsTheFrames) {
  auto run = make_recomputable({0, 2});
  EXPECT_OK(moves().recomputes.drop(*run));
  const std::vector<PageRef> both = pages(*run);
  EXPECT_OK(moves().mover.mount(std::span(both).first(1)));
  EXPECT_OK(moves().recomputes.undo_mount(*run));
  EXPECT_EQ(in(*run, PageState::kGone), 4_MiB);
  EXPECT_EQ(device().usage().used, Bytes());
  EXPECT_EQ(stats().dropped_bytes, 4_MiB) << "each page was dropped once";
  EXPECT_OK(validate_run(*run));
  EXPECT_OK(moves().mover.mount(pages(*run)));
  run->live.store(0);  // the block is freed
  EXPECT_OK(moves().recomputes.undo_mount(*run));
  EXPECT_EQ(in(*run, PageState::kEmpty), 4_MiB);
}

TEST_F(PageRecomputesTest, ANewBlockNeedsNoRecompute) {
  auto run = make_recomputable({0, 1});
  EXPECT_OK(moves().recomputes.drop(*run));
  EXPECT_OK(moves().mover.mount(pages(*run)));
  EXPECT_OK(moves().recomputes.accept(pages(*run)[0]));
  EXPECT_EQ(run->missing.load(), 0U);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
