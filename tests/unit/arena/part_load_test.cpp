#include "lab/arena/part_load.hpp"

#include <gtest/gtest.h>

#include "random_graphs.hpp"

namespace tessera {
namespace {

TEST(PartLoad, MatchesItsDefinitionAsGroupsAreAddedAndRemoved) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const PlacementGraph graph = random_graph(seed, 14);
    const OrderedGroups groups = order_groups(graph).take();
    PartLoad load(graph, groups);
    std::set<std::size_t> part;
    std::vector<std::pair<std::size_t, PartLoad::Sums>> joined;
    std::mt19937 random(seed);
    for (std::size_t group = 0; group < groups.nodes.size(); ++group) {
      if (random() % 3 == 0) continue;
      joined.emplace_back(group, load.join(group));
      part.insert(groups.nodes[group].begin(), groups.nodes[group].end());
      ASSERT_NEAR(load.on_accelerator(), accelerator_load(graph, part), 1e-9) << "seed " << seed;
    }
    while (!joined.empty()) {
      load.leave(joined.back().first, joined.back().second);
      for (const std::size_t node : groups.nodes[joined.back().first]) part.erase(node);
      joined.pop_back();
      ASSERT_NEAR(load.on_accelerator(), accelerator_load(graph, part), 1e-9) << "seed " << seed;
    }
    EXPECT_EQ(load.sums().bytes, Bytes(0));
  }
}

TEST(PartLoad, ACpuPaysForItsNodesAlone) {
  PlacementGraph graph = random_graph(3, 6);
  const OrderedGroups groups = order_groups(graph).take();
  PartLoad load(graph, groups);
  double time = 0;
  load.join(0);
  for (const std::size_t node : groups.nodes[0]) time += graph.nodes[node].cpu_time;
  EXPECT_EQ(load.on_cpu(), time);
}

}  // namespace
}  // namespace tessera
