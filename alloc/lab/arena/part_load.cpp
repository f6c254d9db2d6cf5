#include "lab/arena/part_load.hpp"

namespace tessera {

PartLoad::PartLoad(const PlacementGraph& graph, const OrderedGroups& groups)
    : graph_(graph),
      groups_(groups),
      sources_(graph.nodes.size()),
      readers_(graph.nodes.size(), 0),
      readers_inside_(graph.nodes.size(), 0),
      inside_(graph.nodes.size(), false) {
  for (const PlacementEdge& edge : graph.edges) {
    sources_[edge.to].push_back(edge.from);
    ++readers_[edge.from];
  }
}

// A node inside is sent if a node outside reads it; a node outside is received if a node inside reads it.
double PartLoad::transfer_of(std::size_t node) const {
  const bool moves = inside_[node] ? readers_inside_[node] < readers_[node] : readers_inside_[node] > 0;
  return moves ? graph_.nodes[node].output_time : 0;
}

void PartLoad::join_node(std::size_t node) {
  sums_.transfer -= transfer_of(node);
  inside_[node] = true;
  sums_.transfer += transfer_of(node);
  for (const std::size_t source : sources_[node]) {
    sums_.transfer -= transfer_of(source);
    ++readers_inside_[source];
    sums_.transfer += transfer_of(source);
  }
  sums_.accelerator += graph_.nodes[node].accelerator_time;
  sums_.cpu += graph_.nodes[node].cpu_time;
  sums_.bytes += graph_.nodes[node].bytes;
  sums_.cpu_only += graph_.nodes[node].cpu_only ? 1 : 0;
}

PartLoad::Sums PartLoad::join(std::size_t group) {
  const Sums before = sums_;
  for (const std::size_t node : groups_.nodes[group]) join_node(node);
  return before;
}

void PartLoad::leave(std::size_t group, const Sums& before) {
  for (const std::size_t node : groups_.nodes[group]) {
    inside_[node] = false;
    for (const std::size_t source : sources_[node]) --readers_inside_[source];
  }
  sums_ = before;
}

}  // namespace tessera
