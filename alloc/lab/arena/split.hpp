// Splits a graph of work over devices so that the maximum load is minimal: the dynamic program of Tarnawski et
// al. (arXiv 2006.16423).
//
// It visits the ideals of the graph, sets that no edge enters from outside; a device's part is the difference
// of two ideals. It finds the best contiguous split; a split that is not contiguous may be slightly better.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "lab/arena/placement_graph.hpp"

namespace tessera {

struct SplitLimits {
  std::size_t accelerators = 1;
  std::size_t cpus = 0;
  Bytes accelerator_bytes{~std::uint64_t{0}};
  // Consider only cuts along one order of the graph. There are always few of these, while all cuts may be too
  // many.
  bool linear = false;
};

struct SplitPart {
  bool cpu = false;
  double load = 0;
  Bytes bytes;
  std::vector<std::size_t> nodes;  // ascending
};

struct Split {
  double load = 0;               // the maximum over all parts
  std::vector<SplitPart> parts;  // none is empty
};

// Errors: kInvalidArgument for an invalid graph or limits, kNotSupported for a graph with too many ideals,
// kOutOfMemory if no split fits into the devices.
Result<Split> split_graph(const PlacementGraph& graph, const SplitLimits& limits);

}  // namespace tessera
