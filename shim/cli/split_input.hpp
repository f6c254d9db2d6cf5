// What `tessera plan split` reads: a graph in the published JSON format of Tarnawski et al., or a
// trace.
//
// Of a trace, one iteration is taken: from the first iteration mark to the second, all of it
// without marks. Its operations in their order are the graph: each takes its time, holds the blocks
// that no operation before it touched, and hands on what it writes. Operations that follow each
// other are taken together, so that there are at most 2000 pieces to cut between.
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
  std::vector<std::uint64_t> names;  // of the nodes: ids of a graph, numbers of operations from 0
  std::uint64_t accelerator_bytes = ~std::uint64_t{0};
  std::uint32_t accelerators = 0;  // 0: the file does not say
  std::uint32_t cpus = 0;
  bool trace = false;
};

// "" or what is wrong. Times of a trace are nanoseconds; `bandwidth` is in bytes per second.
std::string read_split_input(std::istream& text, double bandwidth, SplitInput& input);
