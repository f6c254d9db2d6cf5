#include "lab/arena/split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "lab/arena/ideals.hpp"
#include "lab/arena/ordered_groups.hpp"
#include "lab/arena/part_load.hpp"

namespace tessera {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostDevices = 1024;

// The best assignment of one ideal to a given number of devices of each kind.
struct Best {
  double load = kImpossible;
  std::size_t rest = 0;  // the ideal assigned to the other devices
  bool cpu = false;      // whether a CPU takes the difference
};

// One pass over the ideals with parts of at most `ceiling`. A split found below the ceiling is optimal, since
// none of its parts can have been pruned.
class Search {
 public:
  Search(const PlacementGraph& graph, const OrderedGroups& groups, const Ideals& ideals, const SplitLimits& limits,
         double ceiling)
      : groups_(groups),
        ideals_(ideals),
        limits_(limits),
        ceiling_(ceiling),
        part_(graph, groups),
        best_(ideals.count() * (limits.accelerators + 1) * (limits.cpus + 1)),
        seen_from_(ideals.count(), 0) {
    at(0, 0, 0).load = 0;
    for (std::size_t ideal = 1; ideal < ideals.count(); ++ideal) descend(ideal, ideal);
  }

  double load() const { return end().load; }
  // REQUIRES: load() is finite.
  Split take(const PlacementGraph& graph) const;

 private:
  struct End {
    double load = kImpossible;
    std::size_t accelerators = 0;
    std::size_t cpus = 0;
  };

  std::size_t place(std::size_t ideal, std::size_t accelerators, std::size_t cpus) const {
    return (ideal * (limits_.accelerators + 1) + accelerators) * (limits_.cpus + 1) + cpus;
  }
  Best& at(std::size_t ideal, std::size_t accelerators, std::size_t cpus) {
    return best_[place(ideal, accelerators, cpus)];
  }
  const Best& at(std::size_t ideal, std::size_t accelerators, std::size_t cpus) const {
    return best_[place(ideal, accelerators, cpus)];
  }

  bool fits_accelerator() const {
    return part_.sums().cpu_only == 0 && part_.sums().bytes <= limits_.accelerator_bytes;
  }
  // Time and bytes only grow with the part, so no extension of a part over the limits can succeed.
  bool hopeless() const {
    const bool accelerator = fits_accelerator() && part_.sums().accelerator <= ceiling_;
    const bool cpu = limits_.cpus > 0 && part_.sums().cpu <= ceiling_;
    return !accelerator && !cpu;
  }
  void descend(std::size_t from, std::size_t ideal);
  void serve(std::size_t from, std::size_t rest);
  End end() const;

  const OrderedGroups& groups_;
  const Ideals& ideals_;
  const SplitLimits& limits_;
  const double ceiling_;
  PartLoad part_;
  std::vector<Best> best_;
  std::vector<std::size_t> seen_from_;  // per ideal: the larger one it was last reached from
};

// Removes groups from `ideal` one by one; the part is what has been removed from `from`.
void Search::descend(std::size_t from, std::size_t ideal) {
  for (const Ideals::Step& step : ideals_.down(ideal)) {
    if (seen_from_[step.ideal] == from) continue;
    seen_from_[step.ideal] = from;
    const PartLoad::Sums before = part_.join(step.group);
    if (!hopeless()) {
      serve(from, step.ideal);
      descend(from, step.ideal);
    }
    part_.leave(step.group, before);
  }
}

void Search::serve(std::size_t from, std::size_t rest) {
  const auto offer = [&](Best& best, const Best& others, double load, bool cpu) {
    load = std::max(load, others.load);
    if (load < best.load) best = {load, rest, cpu};
  };
  const double accelerator = fits_accelerator() ? part_.on_accelerator() : kImpossible;
  for (std::size_t a = 0; a <= limits_.accelerators; ++a) {
    for (std::size_t c = 0; c <= limits_.cpus; ++c) {
      if (a > 0) offer(at(from, a, c), at(rest, a - 1, c), accelerator, false);
      if (c > 0) offer(at(from, a, c), at(rest, a, c - 1), part_.on_cpu(), true);
    }
  }
}

Search::End Search::end() const {
  End best;
  for (std::size_t a = 0; a <= limits_.accelerators; ++a) {
    for (std::size_t c = 0; c <= limits_.cpus; ++c) {
      const double load = at(ideals_.count() - 1, a, c).load;
      if (load < best.load) best = {load, a, c};
    }
  }
  return best;
}

// The groups removed along a path down to the empty ideal.
std::vector<bool> groups_in(const Ideals& ideals, std::size_t ideal, std::size_t groups) {
  std::vector<bool> inside(groups, false);
  while (ideal != 0) {
    const Ideals::Step& step = ideals.down(ideal).front();
    inside[step.group] = true;
    ideal = step.ideal;
  }
  return inside;
}

Split Search::take(const PlacementGraph& graph) const {
  Split split;
  const End last = end();
  std::size_t ideal = ideals_.count() - 1, accelerators = last.accelerators, cpus = last.cpus;
  while (ideal != 0) {
    const Best& best = at(ideal, accelerators, cpus);
    const std::vector<bool> with = groups_in(ideals_, ideal, groups_.nodes.size());
    const std::vector<bool> without = groups_in(ideals_, best.rest, groups_.nodes.size());
    SplitPart part;
    part.cpu = best.cpu;
    PartLoad load(graph, groups_);
    for (std::size_t group = 0; group < groups_.nodes.size(); ++group) {
      if (!with[group] || without[group]) continue;
      load.join(group);
      part.nodes.insert(part.nodes.end(), groups_.nodes[group].begin(), groups_.nodes[group].end());
    }
    std::sort(part.nodes.begin(), part.nodes.end());
    part.load = part.cpu ? load.on_cpu() : load.on_accelerator();
    part.bytes = load.sums().bytes;
    split.load = std::max(split.load, part.load);
    split.parts.push_back(std::move(part));
    (best.cpu ? cpus : accelerators) -= 1;
    ideal = best.rest;
  }
  std::reverse(split.parts.begin(), split.parts.end());
  return split;
}

bool sensible(double time) { return std::isfinite(time) && time >= 0; }

Status check(const PlacementGraph& graph, const SplitLimits& limits) {
  const std::size_t devices = limits.accelerators + limits.cpus;
  if (devices == 0 || limits.accelerators > kMostDevices || limits.cpus > kMostDevices) {
    return Status(Code::kInvalidArgument, fmt::format("the number of devices of a kind must be 1 to {}", kMostDevices));
  }
  Bytes sum;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacementNode& node = graph.nodes[n];
    if (!sensible(node.accelerator_time) || !sensible(node.cpu_time) || !sensible(node.output_time) ||
        node.bytes.value() > ~sum.value()) {
      return Status(Code::kInvalidArgument, fmt::format("node {} has an invalid time or size", n));
    }
    sum += node.bytes;
  }
  return {};
}

// An upper bound for the load of any forced split: everything, and every transfer twice.
double whole_load(const PlacementGraph& graph) {
  double load = 0;
  for (const PlacementNode& node : graph.nodes) {
    load += std::max(node.accelerator_time, node.cpu_time) + 2 * node.output_time;
  }
  return load;
}

double even_share(const PlacementGraph& graph, const SplitLimits& limits) {
  double load = 0;
  for (const PlacementNode& node : graph.nodes) load += node.accelerator_time;
  return load / static_cast<double>(limits.accelerators + limits.cpus);
}

// Finds the best split, trying low ceilings first: they are quick to search, and the first one with a split
// ends the search.
Result<Split> search_from(double ceiling, const PlacementGraph& graph, const OrderedGroups& groups,
                          const SplitLimits& limits) {
  TESSERA_TRY_ASSIGN(const Ideals ideals, Ideals::of(groups.before));
  const double whole = whole_load(graph);
  for (;; ceiling *= 1.5) {
    const Search search(graph, groups, ideals, limits, ceiling);
    const bool last = ceiling > whole || ceiling <= 0;
    if (search.load() <= ceiling || (last && search.load() != kImpossible)) {
      return search.take(graph);
    }
    if (last) return Status(Code::kOutOfMemory, "no split fits the devices");
  }
}

}  // namespace

Result<Split> split_graph(const PlacementGraph& graph, const SplitLimits& limits) {
  TESSERA_TRY(check(graph, limits));
  TESSERA_TRY_ASSIGN(const OrderedGroups groups, order_groups(graph));
  if (graph.nodes.empty()) return Split{};
  const double share = 1.1 * even_share(graph, limits);
  Result<Split> linear = search_from(share, graph, in_line(groups), limits);
  if (limits.linear) return linear;
  // The optimum is no worse than the best split along a chain, which is quick to find.
  constexpr double kRounding = 1 + 1e-9;
  return search_from(linear.is_ok() ? linear.value().load * kRounding : share, graph, groups, limits);
}

}  // namespace tessera
