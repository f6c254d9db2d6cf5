// Which managed addresses a graph's nodes hold: read from the driver's own graph, node by node.
//
// Why read and not noted when nodes are made: a graph comes from captures, from calls that add nodes,
// from clones and from child graphs; the driver has them all in one place.
//
// Thread safety: any thread; a graph itself is the program's to guard, as CUDA says.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

struct GraphWords {
  std::unordered_map<CUgraphNode, Words> by_node;  // of child graphs and conditional bodies too
  struct Place {
    std::size_t turn = 0;  // in which it was read
    bool in_body = false;  // of a conditional node: it may not run
  };
  std::unordered_map<CUgraphNode, Place> places;
  bool in_body = false;  // while one is read
  bool changed_by_device = false;  // kernels may give some node other parameters, unseen
};

// Adds the words of all nodes. A node that does not tell what it uses may use any block.
// Errors: the driver's, when the graph itself cannot be read.
CUresult read_graph(CUgraph graph, GraphWords& found);

// What one node holds, from its parameters: any block if they cannot be read.
Words words_of(const CUDA_KERNEL_NODE_PARAMS_v2& params);
Words words_of(const CUDA_KERNEL_NODE_PARAMS_v1& params);
Words words_of(const CUDA_MEMCPY3D_v2& params);
Words words_of(const CUDA_MEMSET_NODE_PARAMS_v1& params);
Words words_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& params);
// Of all types but child graphs.
Words words_of(const CUgraphNodeParams& params);

// The bodies of a conditional node are told only by the call that makes it.
void note_bodies(CUgraphNode node, std::span<const CUgraph> bodies);
// Before the program destroys a node or a graph: forgets the bodies in it, also in other bodies, and
// gives them, to be noted again if they are not destroyed after all.
using KnownBodies = std::vector<std::pair<CUgraphNode, std::vector<CUgraph>>>;
KnownBodies forget_bodies(CUgraphNode node);
KnownBodies forget_bodies_in(CUgraph graph);

}  // namespace tessera::preload
