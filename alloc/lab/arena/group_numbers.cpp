#include "lab/arena/group_numbers.hpp"

#include <map>
#include <numeric>
#include <set>

namespace tessera {
namespace {

class IdleGroups {
 public:
  IdleGroups(const PlacementGraph& graph, const GroupNumbers& numbers)
      : busy_(numbers.count, false), neighbours_(numbers.count), goes_with_(numbers.count) {
    std::iota(goes_with_.begin(), goes_with_.end(), std::size_t{0});
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const PlacementNode& node = graph.nodes[n];
      const bool free = node.accelerator_time <= 0 && node.cpu_time <= 0;
      if (!free || node.cpu_only) busy_[numbers.of[n]] = true;
    }
    for (const PlacementEdge& edge : graph.edges) {
      const std::size_t from = numbers.of[edge.from], to = numbers.of[edge.to];
      if (from == to) continue;
      neighbours_[from].insert(to);
      neighbours_[to].insert(from);
    }
    for (std::size_t group = 0; group < numbers.count; ++group) join(group);
  }

  std::size_t home_of(std::size_t group) const {
    while (goes_with_[group] != group) group = goes_with_[group];
    return group;
  }

 private:
  // The neighbour may itself be idle and now have one neighbour left.
  void join(std::size_t group) {
    while (!busy_[group] && neighbours_[group].size() == 1) {
      const std::size_t other = *neighbours_[group].begin();
      neighbours_[other].erase(group);
      neighbours_[group].clear();
      goes_with_[group] = other;
      group = other;
    }
  }

  std::vector<bool> busy_;
  std::vector<std::set<std::size_t>> neighbours_;
  std::vector<std::size_t> goes_with_;
};

}  // namespace

GroupNumbers number_groups(const PlacementGraph& graph) {
  GroupNumbers numbers;
  std::map<std::uint64_t, std::size_t> by_name;
  for (const PlacementNode& node : graph.nodes) {
    numbers.of.push_back(by_name.try_emplace(node.group, by_name.size()).first->second);
  }
  numbers.count = by_name.size();
  const IdleGroups idle(graph, numbers);
  std::map<std::size_t, std::size_t> homes;
  for (std::size_t& group : numbers.of) {
    group = homes.try_emplace(idle.home_of(group), homes.size()).first->second;
  }
  numbers.count = homes.size();
  return numbers;
}

}  // namespace tessera
