// The managed addresses in a graph's nodes, read node by node from the driver's own graph.
//
// Why they are read at instantiation, and not recorded when nodes are made: a graph comes from captures, from calls
// that add nodes, from clones and from child graphs; only the driver's graph has all of them.
//
// Thread safety: any thread; access to a graph must be serialised by the program, as CUDA requires.
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
    std::size_t turn = 0;  // position in reading order
    bool in_body = false;  // in the body of a conditional node: it may not run
  };
  std::unordered_map<CUgraphNode, Place> places;
  std::vector<std::uint64_t> resolved;  // addresses that the driver resolves at instantiation (resolved_addresses.hpp)
  bool in_body = false;                 // true while such a body is read
  bool changed_by_device = false;       // kernels may change parameters of some node unseen
};

// Adds the words of all nodes. A node whose parameters cannot be read may use any block. Errors: the driver's, if the
// graph itself cannot be read.
CUresult read_graph(CUgraph graph, GraphWords& found);

// The words in one node's parameters; `any_block` if they cannot be read.
Words words_of(const CUDA_KERNEL_NODE_PARAMS_v2& params);
Words words_of(const CUDA_KERNEL_NODE_PARAMS_v1& params);
Words words_of(const CUDA_MEMCPY3D_v2& params);
Words words_of(const CUDA_MEMSET_NODE_PARAMS_v1& params);
Words words_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& params);
// All types except child graphs.
Words words_of(const CUgraphNodeParams& params);

// The bodies of a conditional node are returned only by the call that makes the node.
void note_bodies(CUgraphNode node, std::span<const CUgraph> bodies);
// Before the program destroys a node or a graph: forgets the bodies in it, including nested ones, and returns them, to
// be recorded again if the destruction fails.
using KnownBodies = std::vector<std::pair<CUgraphNode, std::vector<CUgraph>>>;
KnownBodies forget_bodies(CUgraphNode node);
KnownBodies forget_bodies_in(CUgraph graph);

}  // namespace tessera::preload
