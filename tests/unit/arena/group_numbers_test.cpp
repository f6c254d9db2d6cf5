#include "lab/arena/group_numbers.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

PlacementNode node(double time, std::uint64_t group) {
  PlacementNode made;
  made.accelerator_time = made.cpu_time = time;
  made.group = group;
  return made;
}

TEST(GroupNumbers, NodesOfOneGroupHaveOneNumber) {
  const PlacementGraph graph{{node(1, 70), node(1, 5), node(1, 70)}, {}};
  const GroupNumbers numbers = number_groups(graph);
  EXPECT_EQ(numbers.count, 2U);
  EXPECT_EQ(numbers.of[0], numbers.of[2]);
  EXPECT_NE(numbers.of[0], numbers.of[1]);
}

TEST(GroupNumbers, AnIdleGroupJoinsItsOnlyNeighbour) {
  // 0 and 1 are idle, in a row before 2; 4 is idle between two groups.
  const PlacementGraph graph{{node(0, 0), node(0, 1), node(1, 2), node(1, 3), node(0, 4)},
                             {{0, 1}, {1, 2}, {2, 4}, {4, 3}}};
  const GroupNumbers numbers = number_groups(graph);
  EXPECT_EQ(numbers.count, 3U);
  EXPECT_EQ(numbers.of[0], numbers.of[2]);
  EXPECT_EQ(numbers.of[1], numbers.of[2]);
  EXPECT_NE(numbers.of[4], numbers.of[2]);
  EXPECT_NE(numbers.of[4], numbers.of[3]);
}

TEST(GroupNumbers, ACpuOnlyGroupStaysSeparate) {
  PlacementGraph graph{{node(0, 0), node(1, 1)}, {{0, 1}}};
  graph.nodes[0].cpu_only = true;
  EXPECT_EQ(number_groups(graph).count, 2U);
}

}  // namespace
}  // namespace tessera
