// Small graphs for tests of splitting, and the load of a part computed directly from its definition.
#pragma once

#include <random>
#include <set>
#include <vector>

#include "lab/arena/placement_graph.hpp"

namespace tessera {

// Edges go from lower to higher nodes; some nodes share a group with their neighbour.
inline PlacementGraph random_graph(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random()) % limit; };
  PlacementGraph graph;
  for (std::size_t i = 0; i < count; ++i) {
    PlacementNode node;
    node.accelerator_time = below(10);
    node.cpu_time = 3.0 * below(10);
    node.output_time = below(4);
    node.bytes = Bytes(random() % 5);
    node.group = i > 0 && random() % 5 == 0 ? graph.nodes[i - 1].group : i;
    graph.nodes.push_back(node);
    for (std::size_t from = 0; from < i; ++from) {
      if (random() % 4 == 0) graph.edges.push_back({from, i});
    }
  }
  return graph;
}

inline double accelerator_load(const PlacementGraph& graph, const std::set<std::size_t>& part) {
  double load = 0;
  std::set<std::size_t> sent, received;
  for (const PlacementEdge& edge : graph.edges) {
    const bool from = part.count(edge.from) != 0, to = part.count(edge.to) != 0;
    if (from && !to) sent.insert(edge.from);
    if (!from && to) received.insert(edge.from);
  }
  for (const std::size_t node : part) load += graph.nodes[node].accelerator_time;
  for (const std::size_t node : sent) load += graph.nodes[node].output_time;
  for (const std::size_t node : received) load += graph.nodes[node].output_time;
  return load;
}

}  // namespace tessera
