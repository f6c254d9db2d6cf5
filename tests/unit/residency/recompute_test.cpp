#include "residency/pages/recompute.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "residency/pages/run.hpp"

namespace tessera {
namespace {

void in_another_thread(const std::function<void()>& work) { std::thread(work).join(); }

TEST(RecomputeTurn, IsHeldByTheThreadThatTookIt) {
  RecomputeTurn turn;
  EXPECT_FALSE(turn.is_mine());
  turn.take();
  EXPECT_TRUE(turn.is_mine());
  in_another_thread([&] { EXPECT_FALSE(turn.is_mine()); });
  turn.give_back();
  EXPECT_FALSE(turn.is_mine());
}

TEST(RecomputeTurn, IsTakenOnceMoreForEachNestedCallback) {
  RecomputeTurn turn;
  turn.take();
  turn.take();
  EXPECT_EQ(turn.depth(), 2u);
  turn.give_back();
  EXPECT_TRUE(turn.is_mine());
  turn.give_back();
  in_another_thread([&] {
    turn.take();
    EXPECT_TRUE(turn.is_mine());
    turn.give_back();
  });
}

TEST(RecomputeTurn, IsNotTakenForRunsThatNeedNoCallback) {
  RecomputeTurn turn;
  EXPECT_FALSE(turn.take_for({}));
  EXPECT_FALSE(turn.keeps_waiting({}));
  EXPECT_EQ(turn.depth(), 0u);
}

TEST(RecomputeTurn, ACallbackMayWaitForOthersOnlyIfItsThreadHasTheTurn) {
  RecomputeTurn turn;
  EXPECT_TRUE(turn.may_wait());
  const InsideCallback inside;
  EXPECT_FALSE(turn.may_wait());
  turn.take();
  EXPECT_TRUE(turn.may_wait());
  turn.give_back();
}

TEST(InsideCallback, IsOfItsThreadAndNests) {
  EXPECT_FALSE(is_inside_callback());
  {
    const InsideCallback outer;
    { const InsideCallback inner; }
    EXPECT_TRUE(is_inside_callback());
    in_another_thread([] { EXPECT_FALSE(is_inside_callback()); });
  }
  EXPECT_FALSE(is_inside_callback());
}

}  // namespace
}  // namespace tessera
