// Nodes of copies and sets: the driver resolves their addresses when it adds or changes them.
//
// Nodes of any kind are added in graph_hooks.cpp.
#include "cuda_api.hpp"
#include "resolved_addresses.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

TESSERA_HOOK cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                  const CUDA_MEMCPY3D_v2* params, CUcontext context) {
  return with_resolved(resolved_in(params), "cuGraphAddMemcpyNode", &TrueDriver::cuGraphAddMemcpyNode, node, graph,
                       after, count, params, context);
}

TESSERA_HOOK cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context) {
  return with_resolved(resolved_in(params), "cuGraphAddMemsetNode", &TrueDriver::cuGraphAddMemsetNode, node, graph,
                       after, count, params, context);
}

TESSERA_HOOK cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D_v2* params) {
  return with_resolved(resolved_in(params), "cuGraphMemcpyNodeSetParams", &TrueDriver::cuGraphMemcpyNodeSetParams, node,
                       params);
}

TESSERA_HOOK cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1* params) {
  return with_resolved(resolved_in(params), "cuGraphMemsetNodeSetParams", &TrueDriver::cuGraphMemsetNodeSetParams, node,
                       params);
}

TESSERA_HOOK cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return with_resolved(resolved_in(params), "cuGraphNodeSetParams", &TrueDriver::cuGraphNodeSetParams, node, params);
}

TESSERA_HOOK cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* params) {
  return with_resolved(resolved_in(params), "cuGraphNodeSetParams", &TrueDriver::cuGraphNodeSetParams_v2, node, params);
}
