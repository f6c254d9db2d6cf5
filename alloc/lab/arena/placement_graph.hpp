// A graph of work to be split over devices: the cost of each node, and which outputs it reads.
//
// The model of Tarnawski et al. (arXiv 2006.16423). The load of an accelerator is the time of its nodes, plus
// the time to send each output that another device reads, once, plus the time to receive each output that it
// reads itself, once. A CPU accesses the memory that holds the outputs directly, so its load is the time of its
// nodes alone. The unit of time is arbitrary.
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
  double output_time = 0;   // time to move its output between an accelerator and host memory
  Bytes bytes;              // memory on an accelerator
  std::uint64_t group = 0;  // nodes of one group stay together
  bool backward = false;    // part of the backward pass: placed with its group
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
