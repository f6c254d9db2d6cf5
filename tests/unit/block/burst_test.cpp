#include "block/burst.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class BurstTest : public LayerTest {
 protected:
  BurstTest() : a_(new_stream()) {}

  // Whether the next block, in its own run, belongs to a burst; followed by its first use, which fills it.
  bool next() {
    const bool belongs = burst_.ask(epoch(), frees_);
    runs_.push_back(take(pages().acquire(4_MiB, {8, a_, kTag}, {})));
    burst_.note_served(runs_.back()->address);
    use(runs_.size() - 1);
    return belongs;
  }
  void use(std::size_t run) { runs_[run]->used.store(residency().streams().tick()); }
  Epoch epoch() { return residency().streams().epoch(); }
  void TearDown() override {
    for (Run* const run : runs_) expect_ok(pages().release(run));
    LayerTest::TearDown();
  }

  const StreamId a_;
  Burst burst_{pages()};
  std::uint64_t frees_ = 0;
  std::vector<Run*> runs_;
};

TEST_F(BurstTest, ConsecutiveAllocationsAreABurstFromTheFourth) {
  EXPECT_FALSE(next());
  EXPECT_FALSE(next());
  EXPECT_FALSE(next());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(next());
}

TEST_F(BurstTest, AFreeEndsABurst) {
  for (int i = 0; i < 5; ++i) next();
  ++frees_;
  EXPECT_FALSE(next());
}

TEST_F(BurstTest, ChainedActivationsAreNoBurst) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(next());
    if (i > 0) use(runs_.size() - 2);  // the input of the work that filled it
  }
}

TEST_F(BurstTest, AnInputFromTwoAllocationsBeforeEndsABurst) {
  for (int i = 0; i < 5; ++i) next();
  use(runs_.size() - 3);
  EXPECT_FALSE(next());
}

TEST_F(BurstTest, BlocksOfOneRunMayBeFilledInTurn) {
  for (int i = 0; i < 4; ++i) next();
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(burst_.ask(epoch(), frees_));
    burst_.note_served(runs_.back()->address);
    use(runs_.size() - 1);
  }
  EXPECT_TRUE(next());
}

}  // namespace
}  // namespace tessera
