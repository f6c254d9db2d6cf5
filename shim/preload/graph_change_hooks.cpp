// Changes to single nodes of an executable graph: afterwards the nodes use other blocks, or have another callback or
// event. The nodes of a graph itself are read when it is instantiated.
#include <algorithm>

#include "cuda_api.hpp"
#include "graph_execs.hpp"
#include "lifecycle.hpp"
#include "resolved_addresses.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

using Addresses = std::span<const std::uint64_t>;

// Calls the driver with new parameters for one node, and records the words in them.
template <class Params, class Function, class... Args>
CUresult change(Function TrueDriver::*function, CUgraphExec exec, CUgraphNode node, Params* params, Args... args) {
  Words words;
  const bool watched = running() != nullptr && params != nullptr;
  if (watched) words = words_of(*params);
  const CUresult result =
      with_resolved(resolved_in(params), "cuGraphExecNodeSetParams", function, exec, node, params, args...);
  if (watched && result == CUDA_SUCCESS) graph_execs().change(exec, std::span(&node, 1), words);
  return result;
}

// The nodes with words in the child graph of `node`: the executable was made from them. Returns the node itself if the
// child graph cannot be read.
std::vector<CUgraphNode> nodes_in(CUgraphNode node) {
  GraphWords embedded;
  CUgraph graph = nullptr;
  const bool read = call_true(&TrueDriver::cuGraphChildGraphNodeGetGraph, node, &graph) == CUDA_SUCCESS &&
                    read_graph(graph, embedded) == CUDA_SUCCESS;
  if (!read) return {node};
  std::vector<CUgraphNode> nodes;
  for (const auto& each : embedded.by_node) nodes.push_back(each.first);
  return nodes;
}

// The driver decides which executable node corresponds to which node of `child`, so callbacks and events stay known
// only if `child` has no host and no record nodes.
bool calls_or_records(CUgraph child) {
  const OrderedNodes order = order_to_cut(child);
  return order.empty() || std::any_of(order.begin(), order.end(), [](const OrderedNode& each) {
           return each.type == CU_GRAPH_NODE_TYPE_HOST || each.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
         });
}

template <class Call>
CUresult change_child(CUgraphExec exec, CUgraphNode node, CUgraph child, Call call) {
  GraphWords found;
  if (running() == nullptr || read_graph(child, found) != CUDA_SUCCESS) return call(Addresses());
  const CUresult result = call(found.resolved);
  if (result != CUDA_SUCCESS) return result;
  Words words;
  for (const auto& [inner, held] : found.by_node) words.append(held);
  if (calls_or_records(child)) graph_execs().forget_order(exec);
  graph_execs().change(exec, nodes_in(node), words);
  return result;
}

CUresult change_other(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  ParamsInContext in_context(params);
  const CUresult result = change(&TrueDriver::cuGraphExecNodeSetParams, exec, node, in_context.get());
  if (result != CUDA_SUCCESS || running() == nullptr) return result;
  if (params->type == CU_GRAPH_NODE_TYPE_HOST) {
    graph_execs().change_call(exec, node, {params->host.fn, params->host.userData});
  } else if (params->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
    graph_execs().change_event(exec, node, params->eventRecord.event);
  }
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

TESSERA_HOOK cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D_v2* params,
                                            CUcontext context) {
  return change(&TrueDriver::cuGraphExecMemcpyNodeSetParams, exec, node, params,
                context_of_node(context, resolved_in(params)));
}

TESSERA_HOOK cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context) {
  return change(&TrueDriver::cuGraphExecMemsetNodeSetParams, exec, node, params,
                context_of_node(context, resolved_in(params)));
}

TESSERA_HOOK cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return change(&TrueDriver::cuGraphExecBatchMemOpNodeSetParams, exec, node, params);
}

TESSERA_HOOK cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return change_child(exec, node, child, [&](Addresses resolved) {
    return with_resolved(resolved, "cuGraphExecChildGraphNodeSetParams",
                         &TrueDriver::cuGraphExecChildGraphNodeSetParams, exec, node, child);
  });
}

TESSERA_HOOK cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr || params->type != CU_GRAPH_NODE_TYPE_GRAPH) {
    return change_other(exec, node, params);
  }
  return change_child(exec, node, params->graph.graph, [&](Addresses resolved) {
    return with_resolved(resolved, "cuGraphExecNodeSetParams", &TrueDriver::cuGraphExecNodeSetParams, exec, node,
                         params);
  });
}

// ---- nodes without blocks that cannot be disabled when the graph is launched in parts ---------------

TESSERA_HOOK cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  const CUresult result = call_true(&TrueDriver::cuGraphExecHostNodeSetParams, exec, node, params);
  if (result == CUDA_SUCCESS && running() != nullptr) {
    graph_execs().change_call(exec, node, *params);
  }
  return result;
}

TESSERA_HOOK cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  const CUresult result = call_true(&TrueDriver::cuGraphExecEventRecordNodeSetEvent, exec, node, event);
  if (result == CUDA_SUCCESS && running() != nullptr) {
    graph_execs().change_event(exec, node, event);
  }
  return result;
}
