// Nodes of copies and sets: the driver resolves their addresses when it adds or changes them, in a graph or in an
// executable one.
//
// What an executable graph uses afterwards is recorded in graph_change_hooks.cpp.
#include "cuda_api.hpp"
#include "resolved_addresses.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

template <class Params, class Function>
CUresult add(const char* call, Function TrueDriver::*function, CUgraphNode* node, CUgraph graph,
             const CUgraphNode* after, std::size_t count, const Params* params, CUcontext context) {
  const std::vector<std::uint64_t> resolved = resolved_in(params);
  return with_resolved(resolved, call, function, node, graph, after, count, params, context_of_node(context, resolved));
}

template <class Params, class Function>
CUresult set(Function TrueDriver::*function, CUgraphNode node, Params* params) {
  return with_resolved(resolved_in(params), "cuGraphNodeSetParams", function, node, params);
}

// The same for parameters that name their context.
template <class Function>
CUresult set_any(Function TrueDriver::*function, CUgraphNode node, CUgraphNodeParams* params) {
  ParamsInContext in_context(params);
  return set(function, node, in_context.get());
}

}  // namespace

TESSERA_HOOK cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                  const CUDA_MEMCPY3D_v2* params, CUcontext context) {
  return add("cuGraphAddMemcpyNode", &TrueDriver::cuGraphAddMemcpyNode, node, graph, after, count, params, context);
}

TESSERA_HOOK cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context) {
  return add("cuGraphAddMemsetNode", &TrueDriver::cuGraphAddMemsetNode, node, graph, after, count, params, context);
}

TESSERA_HOOK cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D_v2* params) {
  return set(&TrueDriver::cuGraphMemcpyNodeSetParams, node, params);
}

TESSERA_HOOK cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1* params) {
  return set(&TrueDriver::cuGraphMemsetNodeSetParams, node, params);
}

TESSERA_HOOK cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return set_any(&TrueDriver::cuGraphNodeSetParams, node, params);
}

TESSERA_HOOK cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* params) {
  return set_any(&TrueDriver::cuGraphNodeSetParams_v2, node, params);
}
