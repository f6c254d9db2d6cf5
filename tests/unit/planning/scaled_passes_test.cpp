#include "planning/scaled_passes.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// A weight, an activation and something square are used in turn: the size of the second is the scale.
class ScaledPassesTest : public ::testing::Test {
 protected:
  static Iteration iteration() {
    Iteration iteration;
    iteration.runs.resize(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      iteration.uses.push_back({.run = i});
      iteration.steps.push_back({.first_use = i, .end_use = i + 1});
    }
    return iteration;
  }
  static ScaledPass pass(std::uint64_t scale) {
    return {{8_MiB, 64_MiB * scale, 2_MiB * (scale * scale)},
            {Nanoseconds(100), Nanoseconds(10 * scale), Nanoseconds(scale * scale)},
            {Nanoseconds(0), Nanoseconds(scale), Nanoseconds(0)}};
  }

  ScaledPasses passes_{iteration()};
};

TEST_F(ScaledPassesTest, PassesOfOneSizeTellNoScale) {
  passes_.add(pass(4));
  passes_.add(pass(4));
  EXPECT_EQ(passes_.size(), 1u);
  EXPECT_FALSE(passes_.teller());
}

TEST_F(ScaledPassesTest, GivesWhatWasSeenAtAScale) {
  for (const std::uint64_t scale : {4u, 10u, 6u}) passes_.add(pass(scale));
  const ScaledPass seen = passes_.at(pass(6).bytes[*passes_.teller()]);
  EXPECT_EQ(seen.bytes, pass(6).bytes);
  EXPECT_EQ(seen.durations, pass(6).durations);
  EXPECT_EQ(seen.before, pass(6).before);
}

// Between two scales, and beyond them; what is proportional is exact.
TEST_F(ScaledPassesTest, ContinuesTheLineThroughTwoScales) {
  passes_.add(pass(4));
  passes_.add(pass(8));
  const std::uint32_t teller = *passes_.teller();
  for (const std::uint64_t scale : {2u, 6u, 12u}) {
    const ScaledPass expected = passes_.at(pass(scale).bytes[teller]);
    EXPECT_EQ(expected.bytes[0], 8_MiB);
    EXPECT_EQ(expected.bytes[1], 64_MiB * scale);
    EXPECT_EQ(expected.durations[0], Nanoseconds(100));
    EXPECT_EQ(expected.durations[1], Nanoseconds(10 * scale));
    EXPECT_EQ(expected.before[1], Nanoseconds(scale));
  }
  EXPECT_EQ(passes_.at(pass(6).bytes[teller]).durations[2], Nanoseconds((16 + 64) / 2));
}

TEST_F(ScaledPassesTest, NoSizeFallsToNothing) {
  passes_.add(pass(16));
  passes_.add(pass(8));
  const ScaledPass small = passes_.at(pass(1).bytes[*passes_.teller()]);
  for (const Bytes bytes : small.bytes) EXPECT_GE(bytes, 2_MiB);
}

// Sizes are known in whole pages, so a large run tells the scale best: of those of the first launches.
TEST_F(ScaledPassesTest, TheLargestOfTheFirstRunsTellsTheScale) {
  passes_.add(pass(4));
  passes_.add(pass(8));
  EXPECT_EQ(passes_.teller(), 1u);

  Iteration long_one = iteration();
  long_one.runs.resize(1000);
  for (std::uint32_t i = 3; i < 1000; ++i) {
    long_one.uses.push_back({.run = i});
    long_one.steps.push_back({.first_use = i, .end_use = i + 1});
  }
  ScaledPasses passes(long_one);
  for (const std::uint64_t scale : {4u, 8u}) {
    ScaledPass each = pass(scale);
    each.bytes.resize(1000, 1_GiB * scale);  // most of them too late
    for (std::size_t i = 3; i < 100; ++i) each.bytes[i] = 2_MiB;
    each.durations.resize(1000, Nanoseconds(1));
    each.before.resize(1000);
    passes.add(each);
  }
  EXPECT_EQ(passes.teller(), 1u);
}

// Of the two runs that vary, the one that grows with the square is the larger one only from a scale of 33 on.
TEST_F(ScaledPassesTest, TheSameRunTellsTheScaleOfSmallPasses) {
  passes_.add(pass(4));
  passes_.add(pass(40));
  EXPECT_EQ(passes_.teller(), 2u);
  passes_.add(pass(8));
  EXPECT_EQ(passes_.teller(), 2u);
}

TEST_F(ScaledPassesTest, KeepsTheNewestScales) {
  for (std::uint64_t scale = 1; scale <= ScaledPasses::kMost + 2; ++scale) passes_.add(pass(scale));
  EXPECT_EQ(passes_.size(), ScaledPasses::kMost);
  ScaledPass again = pass(5);
  again.durations[0] = Nanoseconds(7);
  passes_.add(again);
  EXPECT_EQ(passes_.size(), ScaledPasses::kMost);
  EXPECT_EQ(passes_.at(again.bytes[*passes_.teller()]).durations[0], Nanoseconds(7));
  EXPECT_TRUE(passes_.varies(1));
  EXPECT_FALSE(passes_.varies(0));
}

}  // namespace
}  // namespace tessera
