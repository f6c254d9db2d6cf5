#include "lab/arena/ideals.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Ideals, IdealsOfAChainAreItsPrefixes) {
  const Ideals ideals = Ideals::of({{}, {0}, {1}}).take();
  EXPECT_EQ(ideals.count(), 4U);
  ASSERT_EQ(ideals.down(3).size(), 1U);
  EXPECT_EQ(ideals.down(3)[0].group, 2U);
  EXPECT_EQ(ideals.down(3)[0].ideal, 2U);
}

TEST(Ideals, IdealsOfIndependentGroupsAreAllSubsets) {
  const Ideals ideals = Ideals::of({{}, {}, {}, {}}).take();
  EXPECT_EQ(ideals.count(), 16U);
  EXPECT_TRUE(ideals.down(0).empty());
  EXPECT_EQ(ideals.down(15).size(), 4U);
}

TEST(Ideals, ContainEveryPredecessor) {
  // A diamond: nothing, 0, 01, 02, 012, 0123.
  EXPECT_EQ(Ideals::of({{}, {0}, {0}, {1, 2}}).take().count(), 6U);
}

TEST(Ideals, TooManyAreRefused) {
  EXPECT_EQ(Ideals::of(std::vector<std::vector<std::size_t>>(17)).status().code(), Code::kNotSupported);
}

TEST(Ideals, AnEmptyGraphHasOneIdeal) { EXPECT_EQ(Ideals::of({}).take().count(), 1U); }

}  // namespace
}  // namespace tessera
