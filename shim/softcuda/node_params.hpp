// What a node of a graph does, as cuGraphNodeGetParams tells it.
//
// Thread safety: as the node's graph.
#pragma once

#include "graphs.hpp"

namespace tessera::softcuda {

// Lists point into the node, as documented. Errors: CUDA_ERROR_NOT_SUPPORTED for kinds whose parameters have
// a call of their own alone: what a graph allocates, what it waits for, what it decides.
CUresult params_of(GraphNode& node, CUgraphNodeParams& params);

}  // namespace tessera::softcuda
