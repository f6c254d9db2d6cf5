#include "lab/arena/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "lab/arena/ordered_groups.hpp"
#include "random_graphs.hpp"

namespace tessera {
namespace {

// Enumerates all assignments of groups to devices for which the devices can be ordered along the edges.
class EverySplit {
 public:
  EverySplit(const PlacementGraph& graph, const SplitLimits& limits)
      : graph_(graph), limits_(limits), groups_(order_groups(graph).take()) {
    serve(std::vector<bool>(groups_.nodes.size(), false), limits.accelerators, 0);
  }
  double best() const { return best_; }

 private:
  void serve(const std::vector<bool>& done, std::size_t devices, double load) {
    if (std::find(done.begin(), done.end(), false) == done.end()) best_ = std::min(best_, load);
    if (devices == 0) return;
    const std::size_t count = groups_.nodes.size();
    for (std::size_t mask = 1; mask < std::size_t{1} << count; ++mask) {
      std::vector<bool> after = done;
      std::set<std::size_t> part;
      Bytes bytes;
      bool ideal = true;
      for (std::size_t group = 0; group < count && ideal; ++group) {
        if (((mask >> group) & 1) == 0) continue;
        ideal = !done[group];
        after[group] = true;
        for (const std::size_t before : groups_.before[group]) ideal = ideal && after[before];
        for (const std::size_t node : groups_.nodes[group]) {
          part.insert(node);
          bytes += graph_.nodes[node].bytes;
        }
      }
      if (!ideal || bytes > limits_.accelerator_bytes) continue;
      serve(after, devices - 1, std::max(load, accelerator_load(graph_, part)));
    }
  }

  const PlacementGraph& graph_;
  const SplitLimits& limits_;
  const OrderedGroups groups_;
  double best_ = std::numeric_limits<double>::infinity();
};

std::set<std::size_t> set_of(const SplitPart& part) { return {part.nodes.begin(), part.nodes.end()}; }

TEST(Split, IsTheBestOfAllContiguousSplits) {
  for (std::uint32_t seed = 0; seed < 25; ++seed) {
    const PlacementGraph graph = random_graph(seed, 6);
    SplitLimits limits;
    limits.accelerators = 2 + seed % 2;
    limits.accelerator_bytes = Bytes(8 + seed % 8);
    const EverySplit every(graph, limits);
    const Result<Split> split = split_graph(graph, limits);
    if (every.best() == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(split.status().code(), Code::kOutOfMemory) << "seed " << seed;
      continue;
    }
    ASSERT_TRUE(split.is_ok()) << "seed " << seed;
    EXPECT_NEAR(split.value().load, every.best(), 1e-9) << "seed " << seed;
  }
}

TEST(Split, PartsContainEveryNodeOnceAndReportTheirLoad) {
  for (std::uint32_t seed = 0; seed < 25; ++seed) {
    const PlacementGraph graph = random_graph(seed, 16);
    SplitLimits limits;
    limits.accelerators = 3;
    limits.cpus = seed % 2;
    const Split split = split_graph(graph, limits).take();
    std::set<std::size_t> all;
    for (const SplitPart& part : split.parts) {
      for (const std::size_t node : part.nodes) EXPECT_TRUE(all.insert(node).second);
      if (!part.cpu) {
        EXPECT_NEAR(part.load, accelerator_load(graph, set_of(part)), 1e-9);
      }
      EXPECT_LE(part.load, split.load);
    }
    EXPECT_EQ(all.size(), graph.nodes.size());
  }
}

TEST(Split, AlongALineIsNoBetterThanTheBestOfAll) {
  for (std::uint32_t seed = 0; seed < 25; ++seed) {
    const PlacementGraph graph = random_graph(seed, 14);
    SplitLimits limits;
    limits.accelerators = 3;
    const double best = split_graph(graph, limits).take().load;
    limits.linear = true;
    EXPECT_GE(split_graph(graph, limits).take().load, best - 1e-9) << "seed " << seed;
  }
}

TEST(Split, CpuOnlyNodesGoToACpu) {
  PlacementGraph graph = random_graph(1, 5);
  graph.nodes[2].cpu_only = true;
  SplitLimits limits;
  limits.accelerators = 2;
  EXPECT_EQ(split_graph(graph, limits).status().code(), Code::kOutOfMemory);
  limits.cpus = 1;
  for (const SplitPart& part : split_graph(graph, limits).take().parts) {
    EXPECT_EQ(part.cpu, set_of(part).count(2) == 1);
  }
}

TEST(Split, RefusesInvalidLimitsAndTimes) {
  PlacementGraph graph = random_graph(1, 3);
  SplitLimits limits;
  limits.accelerators = 0;
  EXPECT_EQ(split_graph(graph, limits).status().code(), Code::kInvalidArgument);
  limits.accelerators = 1;
  graph.nodes[1].output_time = -1;
  EXPECT_EQ(split_graph(graph, limits).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(split_graph({}, limits).take().parts.empty());
}

}  // namespace
}  // namespace tessera
