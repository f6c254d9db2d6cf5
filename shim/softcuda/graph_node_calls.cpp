// cuGraphAdd*Node, cuGraph*NodeGetParams and cuGraph*NodeSetParams: single nodes.
#include "graph_call.hpp"
#include "node_params.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// For a node made from one parameter struct.
template <class Params>
CUresult add_made(CUgraphNode* handle, CUgraph into, const CUgraphNode* after, size_t count, const Params* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_node(handle, into, after, nullptr, count,
                  [&](Machine& machine, Work& work) { return make_work(machine, *params, work); });
}

// Replaces the parameters; a node keeps its type.
template <class Params>
CUresult set_made(CUgraphNode handle, CUgraphNodeType type, const Params* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine& machine, GraphNode& node) -> CUresult {
    if (type_of(node.work) != type) return CUDA_ERROR_INVALID_VALUE;
    Work work = EmptyWork{};
    SOFTCUDA_TRY(make_work(machine, *params, work));
    machine.graphs.set(node, std::move(work));
    return CUDA_SUCCESS;
  });
}

template <class EventWork>
CUresult set_event(CUgraphNode handle, CUevent event) {
  return on_node(handle, [&](Machine& machine, GraphNode& node) {
    if (!std::holds_alternative<EventWork>(node.work)) return CUDA_ERROR_INVALID_VALUE;
    return make_event_work<EventWork>(machine, event, node.work);
  });
}

// A new set without a context is one in that of its memory, and mapped memory has none.
CUresult check_context_of_set(Machine& machine, CUdeviceptr address, CUcontext context) {
  const auto range = machine.ranges.find(Address(address));
  const bool none = context == nullptr && range && range->kind == RangeKind::kReservation;
  return none ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool is_kernel(const GraphNode& node) { return std::holds_alternative<KernelWork>(node.work); }

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  return add_node(node, graph, after, nullptr, count, [](Machine&, Work&) { return CUDA_SUCCESS; });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                        size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_node(node, graph, after, edges, count, [&](Machine& machine, Work& work) -> CUresult {
    if (params->type == CU_GRAPH_NODE_TYPE_MEMSET) {
      SOFTCUDA_TRY(check_context_of_set(machine, params->memset.dst, params->memset.ctx));
    }
    if (params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return make_work(machine, *params, work);
    ConditionalWork conditional;
    SOFTCUDA_TRY(make_conditional_work(*machine.graphs.find(graph), params->conditional, conditional));
    params->conditional.phGraph_out = conditional.handles->data();
    work = std::move(conditional);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_made(node, params->type, params);
}

// ---- kernels -----------------------------------------------------------------------------------

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* params) {
  return add_made(node, graph, after, count, params);
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return set_made(node, CU_GRAPH_NODE_TYPE_KERNEL, params);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine& machine, GraphNode& node) {
    if (!is_kernel(node)) return CUDA_ERROR_INVALID_VALUE;
    if (machine.environment.parameters == Parameters::kHidden) return CUDA_ERROR_NOT_SUPPORTED;
    tell_kernel(node, *params);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine&, GraphNode& node) {
    if (!is_kernel(node)) return CUDA_ERROR_INVALID_VALUE;
    node.attributes[attribute] = *value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine&, GraphNode& node) {
    if (!is_kernel(node)) return CUDA_ERROR_INVALID_VALUE;
    const auto set = node.attributes.find(attribute);
    *value = set != node.attributes.end() ? set->second : CUkernelNodeAttrValue{};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return on_node(to, [&](Machine& machine, GraphNode& node) {
    const GraphNode* const source = machine.graphs.find(from);
    if (source == nullptr || !is_kernel(*source) || !is_kernel(node)) return CUDA_ERROR_INVALID_VALUE;
    node.attributes = source->attributes;
    return CUDA_SUCCESS;
  });
}

// ---- copies and sets ---------------------------------------------------------------------------

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext) {
  return add_made(node, graph, after, count, params);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return set_made(node, CU_GRAPH_NODE_TYPE_MEMCPY, params);
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<CopyWork>(node, [&](const CopyWork& work) { *params = work.copy; });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_node(node, graph, after, nullptr, count, [&](Machine& machine, Work& work) -> CUresult {
    SOFTCUDA_TRY(check_context_of_set(machine, params->dst, context));
    return make_work(machine, *params, work);
  });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set_made(node, CU_GRAPH_NODE_TYPE_MEMSET, params);
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<FillWork>(node, [&](const FillWork& work) { *params = work.fill; });
}

// ---- host functions, child graphs, events ------------------------------------------------------

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  return add_made(node, graph, after, count, params);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_made(node, CU_GRAPH_NODE_TYPE_HOST, params);
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<HostWork>(node, [&](const HostWork& work) { *params = work.call; });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                  CUgraph child) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  return add_made(node, graph, after, count, &params);
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
  if (child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<ChildWork>(node, [&](const ChildWork& work) { *child = handle_of(work.graph.get()); });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUevent event) {
  return add_node(node, graph, after, nullptr, count,
                  [&](Machine& machine, Work& work) { return make_event_work<RecordWork>(machine, event, work); });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<RecordWork>(node, [&](const RecordWork& work) { *event = work.event; });
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) { return set_event<RecordWork>(node, event); }

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 CUevent event) {
  return add_node(node, graph, after, nullptr, count,
                  [&](Machine& machine, Work& work) { return make_event_work<WaitWork>(machine, event, work); });
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<WaitWork>(node, [&](const WaitWork& work) { *event = work.event; });
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) { return set_event<WaitWork>(node, event); }
