// Copies in lower tiers: host frames, the staging reserve, and the file.
#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, TakesHostFramesFromTheBudgetThenFromTheReserve) {
  std::vector<std::unique_ptr<tessera::Run>> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(cold_run());
  EXPECT_FALSE(runs[1]->pages[0].copy.staging);
  EXPECT_TRUE(runs[2]->pages[0].copy.staging);
  auto one_more = resident_run({0, 1});
  EXPECT_EQ(copy_out({one_more.get(), 0}).code(), Code::kOutOfMemory);
  EXPECT_EQ(one_more->pages[0].state, PageState::kResident);
  EXPECT_FALSE(moves().copies.adopt({runs[2].get(), 0})) << "the budget is in use";
  take_all(*runs[0]);
  EXPECT_TRUE(moves().copies.adopt({runs[2].get(), 0}) || moves().copies.adopt({runs[3].get(), 0}));
  for (auto& run : runs) take_all(*run);
  take_all(*one_more);
}

TEST_F(PageMovesTest, AWrittenPageDropsItsCopiesAfterItsFetch) {
  auto run = cold_run();
  ASSERT_OK(moves().mover.mount(pages(*run)));
  run->written.store(Epoch(1));
  EXPECT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_FALSE(run->pages[0].host.has_value());
  take_all(*run);
}

}  // namespace
}  // namespace tessera
