#include "block/burst.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "block/slab.hpp"
#include "layer_fixture.hpp"

namespace tessera {
namespace {

constexpr Bytes kBertWeight = 2304_KiB;

std::uint32_t best_slots(Bytes bytes, Bytes most) { return Burst::best_slots(*wide_class_for(bytes), most); }

TEST(BurstSlots, AreAsManyAsWasteLeast) {
  EXPECT_EQ(best_slots(kBertWeight, 18_MiB), 8u);  // nine pages, to the last byte
  EXPECT_EQ(best_slots(kBertWeight, 16_MiB), 7u);
  EXPECT_EQ(best_slots(3_MiB, 18_MiB), 2u);        // more would waste no less
  EXPECT_EQ(best_slots(9_MiB, 18_MiB), 2u);
}

TEST(BurstSlots, AreOneWhereSharingWinsLittleOrIsTooMuch) {
  EXPECT_EQ(best_slots(4_MiB, 18_MiB), 1u);
  EXPECT_EQ(best_slots(15_MiB, 18_MiB), 1u);
  EXPECT_EQ(best_slots(kBertWeight, 4_MiB), 1u);
}

TEST(BurstSlots, AreMoreThanOneOnlyWhereTheyFillTheirPagesBetter) {
  const auto filled = [](Bytes bytes) {
    return static_cast<double>(bytes.value()) / static_cast<double>(round_up(bytes, kBasePage).value());
  };
  for (std::uint32_t index = kSmallClasses; index < kSlotClasses; ++index) {
    const SizeClass wide{index};
    const std::uint32_t slots = Burst::best_slots(wide, Slab::kMostBytes);
    if (slots == 1) continue;
    EXPECT_LE(round_up(wide.bytes() * slots, kBasePage), Slab::kMostBytes) << index;
    EXPECT_GT(filled(wide.bytes() * slots), filled(wide.bytes()) + 0.029) << index;
  }
}

class BurstTest : public LayerTest {
 protected:
  BurstTest() : a_(new_stream()) {}

  // Whether the next block, in a run of its own, belongs to a burst; with its first use, which fills it.
  bool next() {
    const bool belongs = burst_.ask(epoch(), frees_);
    runs_.push_back(take(pages().acquire(4_MiB, {8, a_, kTag}, {})));
    burst_.note_served(runs_.back()->address);
    use(runs_.size() - 1);
    return belongs;
  }
  void use(std::size_t run) { runs_[run]->used.store(residency().streams().tick()); }
  std::uint64_t epoch() { return residency().streams().epoch(); }
  std::uint32_t more(Bytes live, TagId tag = kTag) { return burst_.take_more({*wide_class_for(kBertWeight), a_, tag}, live); }
  void TearDown() override {
    for (Run* const run : runs_) expect_ok(pages().release(run));
    LayerTest::TearDown();
  }

  const StreamId a_;
  Burst burst_{pages()};
  std::uint64_t frees_ = 0;
  std::vector<Run*> runs_;
};

TEST_F(BurstTest, BlocksThatAreMadeOneAfterAnotherBelongToOneFromTheFourthOn) {
  EXPECT_FALSE(next());
  EXPECT_FALSE(next());
  EXPECT_FALSE(next());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(next());
}

TEST_F(BurstTest, AFreeEndsIt) {
  for (int i = 0; i < 5; ++i) next();
  ++frees_;
  EXPECT_FALSE(next());
}

TEST_F(BurstTest, ActivationsMadeEachFromTheOneBeforeAreNone) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(next());
    if (i > 0) use(runs_.size() - 2);  // the input of what filled it
  }
}

TEST_F(BurstTest, InputsOfAnActivationTwoBeforeEndItAsWell) {
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

TEST_F(BurstTest, TheFirstOfASizeAreAloneAndSlabsGrowWithWhatThereIs) {
  std::vector<std::uint32_t> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(more(1_GiB));
  EXPECT_EQ(blocks, (std::vector<std::uint32_t>{1, 1, 3, 8, 8, 8}));
  EXPECT_EQ(more(1_GiB, TagId(9)), 1u) << "another domain begins anew";
}

TEST_F(BurstTest, ASlabIsASixteenthOfWhatLivesAtMost) {
  for (int i = 0; i < 40; ++i) EXPECT_EQ(more(64_MiB), 1u);
  EXPECT_EQ(more(16 * 6_MiB), 2u);
}

}  // namespace
}  // namespace tessera
