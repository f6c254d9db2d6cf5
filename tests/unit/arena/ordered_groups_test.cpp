#include "lab/arena/ordered_groups.hpp"

#include <gtest/gtest.h>

#include "random_graphs.hpp"

namespace tessera {
namespace {

PlacementNode node(std::uint64_t group, bool backward = false) {
  PlacementNode made;
  made.accelerator_time = 1;
  made.group = group;
  made.backward = backward;
  return made;
}

using Sets = std::vector<std::vector<std::size_t>>;

TEST(OrderedGroups, FollowTheirDependenciesEarliestNodeFirst) {
  const PlacementGraph graph{{node(0), node(1), node(2), node(3)}, {{2, 1}, {0, 3}}};
  const OrderedGroups groups = order_groups(graph).take();
  EXPECT_EQ(groups.nodes, (Sets{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(groups.before, (Sets{{}, {}, {1}, {0}}));
}

TEST(OrderedGroups, GroupsThatNeedEachOtherBecomeOne) {
  const PlacementGraph graph{{node(7), node(8), node(7)}, {{0, 1}, {1, 2}}};
  EXPECT_EQ(order_groups(graph).take().nodes, (Sets{{0, 1, 2}}));
}

TEST(OrderedGroups, BackwardNodesFollowTheirForwardNodes) {
  // Forward 0 -> 1, backward 3 -> 2 in the same groups.
  const PlacementGraph graph{{node(0), node(1), node(0, true), node(1, true)}, {{0, 1}, {1, 3}, {3, 2}}};
  const OrderedGroups groups = order_groups(graph).take();
  EXPECT_EQ(groups.nodes, (Sets{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups.before, (Sets{{}, {0}}));
}

TEST(OrderedGroups, ABackwardGroupWithoutForwardNodesHasTheMirroredPlace) {
  // Backward 3 -> 4 -> 2: the group of 4 belongs between those of 0 and 1.
  const PlacementGraph graph{{node(0), node(1), node(0, true), node(1, true), node(5, true)}, {{0, 1}, {3, 4}, {4, 2}}};
  EXPECT_EQ(order_groups(graph).take().nodes, (Sets{{0, 2}, {4}, {1, 3}}));
}

TEST(OrderedGroups, NamesInvalidEdges) {
  const PlacementGraph no_node{{node(0)}, {{0, 1}}};
  EXPECT_EQ(order_groups(no_node).status().message(), "edge 0 has an endpoint that is not a node");
  const PlacementGraph back{{node(0), node(0, true)}, {{1, 0}}};
  EXPECT_EQ(order_groups(back).status().code(), Code::kInvalidArgument);
}

TEST(OrderedGroups, InLineEachNeedsTheOneBefore) {
  const OrderedGroups groups = in_line(order_groups(random_graph(1, 12)).take());
  for (std::size_t group = 1; group < groups.before.size(); ++group) {
    EXPECT_EQ(groups.before[group], std::vector<std::size_t>{group - 1});
  }
}

}  // namespace
}  // namespace tessera
