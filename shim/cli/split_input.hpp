// The input of `tessera plan split`: a graph in the JSON format published by Tarnawski et al., or a trace.
//
// Of a trace one iteration is used: from the first iteration mark to the second, or the whole trace if it has no marks.
// Its operations, in order, form the graph: each takes its time, holds the blocks that no earlier operation touched,
// and passes on what it writes. Adjacent operations are merged so that there are at most 2000 pieces to cut between.
//
// Thread safety: none.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "tessera/plan.h"

struct SplitInput {
  std::vector<tessera_split_node> nodes;
  std::vector<tessera_split_edge> edges;
  std::vector<std::uint64_t> names;  // of the nodes: ids of a graph, operation numbers from 0
  std::uint64_t accelerator_bytes = ~std::uint64_t{0};
  std::uint32_t accelerators = 0;  // 0: not in the file
  std::uint32_t cpus = 0;
  bool trace = false;
};

// "" or the error. Times of a trace are nanoseconds; `bandwidth` is in bytes per second.
std::string read_split_input(std::istream& text, double bandwidth, SplitInput& input);
