#include "lab/arena/ordered_groups.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include <fmt/core.h>

#include "lab/arena/group_numbers.hpp"

namespace tessera {
namespace {

using Neighbours = std::vector<std::set<std::size_t>>;

// Finds cycles (strongly connected components) with Tarjan's algorithm; iterative, since chains are long.
class Circles {
 public:
  explicit Circles(const Neighbours& after)
      : after_(after), order_(after.size(), 0), low_(after.size(), 0), circle_(after.size(), kNone) {
    for (std::size_t start = 0; start < after.size(); ++start) {
      if (order_[start] == 0) walk(start);
    }
  }

  // The component of each vertex; most contain a single vertex.
  const std::vector<std::size_t>& of() const { return circle_; }
  std::size_t count() const { return circles_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Visit {
    std::size_t vertex;
    std::set<std::size_t>::const_iterator next;
  };

  void enter(std::size_t vertex) {
    order_[vertex] = low_[vertex] = ++entered_;
    open_.push_back(vertex);
    path_.push_back({vertex, after_[vertex].begin()});
  }

  void leave(std::size_t vertex) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().vertex] = std::min(low_[path_.back().vertex], low_[vertex]);
    if (low_[vertex] != order_[vertex]) return;
    for (bool whole = false; !whole; open_.pop_back()) {
      circle_[open_.back()] = circles_;
      whole = open_.back() == vertex;
    }
    ++circles_;
  }

  void walk(std::size_t start) {
    enter(start);
    while (!path_.empty()) {
      Visit& visit = path_.back();
      if (visit.next == after_[visit.vertex].end()) {
        leave(visit.vertex);
        continue;
      }
      const std::size_t next = *visit.next++;
      if (order_[next] == 0) {
        enter(next);
      } else if (circle_[next] == kNone) {
        low_[visit.vertex] = std::min(low_[visit.vertex], order_[next]);
      }
    }
  }

  const Neighbours& after_;
  std::vector<std::size_t> order_, low_, circle_;
  std::vector<std::size_t> open_;
  std::vector<Visit> path_;
  std::size_t entered_ = 0;
  std::size_t circles_ = 0;
};

Status check(const PlacementGraph& graph) {
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const PlacementEdge& edge = graph.edges[i];
    if (edge.from >= graph.nodes.size() || edge.to >= graph.nodes.size()) {
      return Status(Code::kInvalidArgument, fmt::format("edge {} has an endpoint that is not a node", i));
    }
    if (graph.nodes[edge.from].backward && !graph.nodes[edge.to].backward) {
      return Status(Code::kInvalidArgument, fmt::format("edge {} goes from the backward to the forward pass", i));
    }
  }
  return {};
}

// The successors of each group according to the edges.
Neighbours needs_of(const PlacementGraph& graph, const GroupNumbers& numbers) {
  std::vector<bool> has_forward(numbers.count, false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.nodes[n].backward) has_forward[numbers.of[n]] = true;
  }
  Neighbours after(numbers.count);
  for (const PlacementEdge& edge : graph.edges) {
    const std::size_t from = numbers.of[edge.from], to = numbers.of[edge.to];
    if (from == to) continue;
    if (!graph.nodes[edge.to].backward) after[from].insert(to);
    const bool mirrored = graph.nodes[edge.from].backward && !(has_forward[from] && has_forward[to]);
    if (mirrored) after[to].insert(from);
  }
  return after;
}

// Topologically sorts groups; where there is a choice, the one with the earliest node comes first.
OrderedGroups sorted(std::vector<std::vector<std::size_t>> nodes, const Neighbours& after) {
  std::vector<std::size_t> missing(nodes.size(), 0), place(nodes.size(), 0);
  for (const std::set<std::size_t>& later : after) {
    for (const std::size_t group : later) ++missing[group];
  }
  using Ready = std::pair<std::size_t, std::size_t>;  // first node, group
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto offer = [&](std::size_t group) {
    if (missing[group] == 0) ready.emplace(nodes[group].front(), group);
  };
  for (std::size_t group = 0; group < nodes.size(); ++group) offer(group);
  OrderedGroups result;
  result.before.resize(nodes.size());
  while (!ready.empty()) {
    const std::size_t group = ready.top().second;
    ready.pop();
    place[group] = result.nodes.size();
    result.nodes.push_back(nodes[group]);
    for (const std::size_t later : after[group]) {
      --missing[later];
      offer(later);
    }
  }
  for (std::size_t group = 0; group < nodes.size(); ++group) {
    for (const std::size_t later : after[group]) result.before[place[later]].push_back(place[group]);
  }
  for (std::vector<std::size_t>& earlier : result.before) std::sort(earlier.begin(), earlier.end());
  return result;
}

}  // namespace

Result<OrderedGroups> order_groups(const PlacementGraph& graph) {
  TESSERA_TRY(check(graph));
  const GroupNumbers numbers = number_groups(graph);
  const Neighbours needs = needs_of(graph, numbers);
  const Circles circles(needs);
  std::vector<std::vector<std::size_t>> nodes(circles.count());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    nodes[circles.of()[numbers.of[n]]].push_back(n);
  }
  Neighbours after(circles.count());
  for (std::size_t group = 0; group < needs.size(); ++group) {
    for (const std::size_t later : needs[group]) {
      const std::size_t from = circles.of()[group], to = circles.of()[later];
      if (from != to) after[from].insert(to);
    }
  }
  return sorted(std::move(nodes), after);
}

OrderedGroups in_line(OrderedGroups groups) {
  for (std::size_t group = 0; group < groups.before.size(); ++group) {
    groups.before[group].clear();
    if (group > 0) groups.before[group].push_back(group - 1);
  }
  return groups;
}

}  // namespace tessera
