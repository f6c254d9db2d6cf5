// Changes to single nodes of an executable graph: from then on they hold other blocks.
//
// Changes to a graph's own nodes need no hook: they are read when it is instantiated.
#include "cuda_api.hpp"
#include "graph_execs.hpp"
#include "lifecycle.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// Calls the driver with new parameters of one node, and remembers what they name.
template <class Params, class Function, class... Args>
CUresult change(Function TrueDriver::*function, CUgraphExec exec, CUgraphNode node,
                Params* params, Args... args) {
  Words words;
  const bool watched = running() != nullptr && params != nullptr;
  if (watched) words = words_of(*params);
  const CUresult result = call_true(function, exec, node, params, args...);
  if (watched && result == CUDA_SUCCESS) graph_execs().change(exec, node, std::move(words));
  return result;
}

// The graph inside the node; its nodes are those that the executable was made from.
GraphWords embedded_in(CUgraphNode node) {
  GraphWords embedded;
  CUgraph graph = nullptr;
  if (call_true(&TrueDriver::cuGraphChildGraphNodeGetGraph, node, &graph) == CUDA_SUCCESS) {
    (void)read_graph(graph, embedded);
  }
  return embedded;
}

template <class Call>
CUresult change_child(CUgraphExec exec, CUgraphNode node, CUgraph child, Call call) {
  if (running() == nullptr) return call();
  GraphWords found;
  if (read_graph(child, found) != CUDA_SUCCESS) return call();
  const CUresult result = call();
  if (result != CUDA_SUCCESS) return result;
  Words words;
  for (const auto& [inner, held] : found.by_node) words.insert(words.end(), held.begin(), held.end());
  const GraphWords replaced = embedded_in(node);
  graph_execs().change(exec, node, std::move(words), &replaced);
  return result;
}

}  // namespace

TESSERA_HOOK cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return change(&TrueDriver::cuGraphExecKernelNodeSetParams, exec, node, params);
}

TESSERA_HOOK cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return change(&TrueDriver::cuGraphExecKernelNodeSetParams_v2, exec, node, params);
}

TESSERA_HOOK cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMCPY3D_v2* params, CUcontext context) {
  return change(&TrueDriver::cuGraphExecMemcpyNodeSetParams, exec, node, params, context);
}

TESSERA_HOOK cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS_v1* params,
                                            CUcontext context) {
  return change(&TrueDriver::cuGraphExecMemsetNodeSetParams, exec, node, params, context);
}

TESSERA_HOOK cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return change(&TrueDriver::cuGraphExecBatchMemOpNodeSetParams, exec, node, params);
}

TESSERA_HOOK cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                CUgraph child) {
  return change_child(exec, node, child, [&] {
    return call_true(&TrueDriver::cuGraphExecChildGraphNodeSetParams, exec, node, child);
  });
}

TESSERA_HOOK cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      CUgraphNodeParams* params) {
  if (params == nullptr || params->type != CU_GRAPH_NODE_TYPE_GRAPH) {
    return change(&TrueDriver::cuGraphExecNodeSetParams, exec, node, params);
  }
  return change_child(exec, node, params->graph.graph, [&] {
    return call_true(&TrueDriver::cuGraphExecNodeSetParams, exec, node, params);
  });
}
