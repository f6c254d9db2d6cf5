// A graph of work to be split over devices: what each node costs, and whose output it needs.
//
// The model of Tarnawski et al. (arXiv 2006.16423). An accelerator's load is the time of its nodes,
// the time to send each output that another device needs, once, and the time to receive each output
// that it needs itself, once. A CPU reads and writes the memory in which outputs wait, so its load
// is its nodes' time alone. Times are of any unit.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace tessera {

struct PlacementNode {
  double accelerator_time = 0;
  double cpu_time = 0;
  double output_time = 0;   // to move its output between an accelerator and host memory
  Bytes bytes;              // on an accelerator
  std::uint64_t group = 0;  // nodes of one group stay together
  bool backward = false;    // a node of the backward pass: it goes where its group goes
  bool cpu_only = false;
};

struct PlacementEdge {
  std::size_t from = 0;
  std::size_t to = 0;
};

struct PlacementGraph {
  std::vector<PlacementNode> nodes;
  std::vector<PlacementEdge> edges;  // between indices of `nodes`
};

}  // namespace tessera
