#include "residency/pages/page_files.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, SpillsAPageAndLoadsItBack) {
  auto run = resident_run({0, 1});
  fill(*run, 9);
  start_eviction(*run);
  ASSERT_OK(moves().files.spill({run.get(), 0}));
  EXPECT_EQ(run->pages[0].state, PageState::kSpilling);
  EXPECT_FALSE(moves().files.finish_spill({run.get(), 0}, false).take()) << "it takes a while";
  EXPECT_TRUE(moves().files.finish_spill({run.get(), 0}, true).take());
  EXPECT_EQ(host().usage().used, Bytes());
  ASSERT_OK(moves().files.load({run.get(), 0}));
  EXPECT_TRUE(moves().files.finish_load({run.get(), 0}, true).take());
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 9);
  EXPECT_EQ(stats().sinks, 1U);
  EXPECT_EQ(stats().loads, 1U);
  take_all(*run);
  EXPECT_EQ(file().usage().used, Bytes());
}

TEST_F(PageMovesTest, AFullFileLeavesTheHostCopy) {
  std::vector<Frame> all;
  for (auto frame = file().take(PageClass::kBase); frame.is_ok(); frame = file().take(PageClass::kBase)) {
    all.push_back(frame.value());
  }
  auto run = cold_run();
  EXPECT_EQ(moves().files.spill({run.get(), 0}).code(), Code::kOutOfMemory);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_TRUE(run->pages[0].host.has_value());
  for (const Frame& frame : all) file().give_back(frame);
  take_all(*run);
}

TEST_F(PageMovesTest, AFailedSpillLeavesTheHostCopyAndNoFileFrame) {
  auto run = cold_run();
  file_io().set_write_outcome(Status(Code::kIo, "disk full"));
  ASSERT_OK(moves().files.spill({run.get(), 0}));
  EXPECT_EQ(moves().files.finish_spill({run.get(), 0}, true).status().code(), Code::kIo);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  EXPECT_TRUE(run->pages[0].host.has_value());
  EXPECT_EQ(file().usage().used, Bytes());
  take_all(*run);
}

TEST_F(PageMovesTest, AHeldPageKeepsItsHostCopyAfterItsSpill) {
  auto run = cold_run();
  run->holds.store(1);
  ASSERT_OK(moves().files.spill({run.get(), 0}));
  EXPECT_TRUE(moves().files.finish_spill({run.get(), 0}, true).take());
  EXPECT_TRUE(run->pages[0].host.has_value() && run->pages[0].file.has_value());
  run->holds.store(0);
  take_all(*run);
}

TEST_F(PageMovesTest, AReadThatFailsCanBeTriedAgainAndACorruptOneCannot) {
  auto run = cold_run();
  ASSERT_OK(moves().files.spill({run.get(), 0}));
  ASSERT_TRUE(moves().files.finish_spill({run.get(), 0}, true).take());
  file_io().set_read_outcome(Status(Code::kIo, "bad cable"));
  ASSERT_OK(moves().files.load({run.get(), 0}));
  EXPECT_EQ(moves().files.finish_load({run.get(), 0}, true).status().code(), Code::kIo);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  file_io().set_read_outcome({});
  file_io().corrupt();
  ASSERT_OK(moves().files.load({run.get(), 0}));
  EXPECT_EQ(moves().files.finish_load({run.get(), 0}, true).status().code(), Code::kDataLoss);
  EXPECT_EQ(run->pages[0].state, PageState::kLost);
  EXPECT_EQ(host().usage().used, Bytes());
  EXPECT_EQ(file().usage().used, Bytes()) << "a place with bytes of no use";
  EXPECT_OK(moves().releases.discard({run.get(), 0}));
}

TEST_F(PageMovesTest, LoadingWithoutAHostFrameIsBusy) {
  auto run = cold_run();
  ASSERT_OK(moves().files.spill({run.get(), 0}));
  ASSERT_TRUE(moves().files.finish_spill({run.get(), 0}, true).take());
  std::vector<std::unique_ptr<tessera::Run>> others;
  for (int i = 0; i < 4; ++i) others.push_back(cold_run());
  EXPECT_EQ(moves().files.load({run.get(), 0}).code(), Code::kBusy);
  EXPECT_EQ(run->pages[0].state, PageState::kCold);
  for (auto& other : others) take_all(*other);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
