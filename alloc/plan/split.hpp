// Splits a graph of work over devices so that the most loaded one has the least to do: the dynamic
// program of Tarnawski et al. (arXiv 2006.16423).
//
// It goes through the ideals of the graph, sets that no edge enters from outside: a device's part
// is the difference of two. Of all contiguous splits it finds the best; what is not contiguous can
// be a little better still.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "plan/placement_graph.hpp"

namespace tessera {

struct SplitLimits {
  std::size_t accelerators = 1;
  std::size_t cpus = 0;
  Bytes accelerator_bytes{~std::uint64_t{0}};
  // Look only at cuts along one order of the graph: always few, where all may be too many.
  bool linear = false;
};

struct SplitPart {
  bool cpu = false;
  double load = 0;
  Bytes bytes;
  std::vector<std::size_t> nodes;  // rising
};

struct Split {
  double load = 0;               // the largest of all parts
  std::vector<SplitPart> parts;  // none is empty
};

// Errors: kInvalidArgument for a graph or limits that cannot be meant, kNotSupported for a graph
// with too many ideals, kOutOfMemory if no split fits into the devices.
Result<Split> split_graph(const PlacementGraph& graph, const SplitLimits& limits);

}  // namespace tessera
