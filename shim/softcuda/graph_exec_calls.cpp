// cuGraphInstantiate*, cuGraphExec*, cuGraphLaunch: executable graphs and changes to them.
#include "capture.hpp"
#include "graph_call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr cuuint64_t kEveryFlag = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                  CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                  CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* handle, CUgraph source, cuuint64_t flags) {
  if (handle == nullptr || (flags & ~kEveryFlag) != 0) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(source, [&](Machine& machine, Graph& graph) -> CUresult {
    SOFTCUDA_TRY(check_memory(machine, graph));
    GraphExec* const exec = machine.graphs.instantiate(graph, flags);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = handle_of(exec);
    return CUDA_SUCCESS;
  });
}

// Calls body(machine, the executable's own copy of the node).
template <class Body>
CUresult on_copy(CUgraphExec handle, CUgraphNode of, Body&& body) {
  return on_exec(handle, [&](Machine& machine, GraphExec& exec) {
    const auto copy = exec.copies.find(machine.graphs.find(of));
    return copy == exec.copies.end() ? CUDA_ERROR_INVALID_VALUE : body(machine, *copy->second);
  });
}

template <class Params>
CUresult set_copy(CUgraphExec exec, CUgraphNode of, CUgraphNodeType type, const Params* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_copy(exec, of, [&](Machine& machine, GraphNode& node) {
    if (type_of(node.work) != type) return CUDA_ERROR_INVALID_VALUE;
    return make_work(machine, *params, node.work);
  });
}

template <class EventWork>
CUresult set_event(CUgraphExec exec, CUgraphNode of, CUevent event) {
  return on_copy(exec, of, [&](Machine& machine, GraphNode& node) {
    if (!std::holds_alternative<EventWork>(node.work)) return CUDA_ERROR_INVALID_VALUE;
    return make_event_work<EventWork>(machine, event, node.work);
  });
}

// The nodes of the copy are kept, so that their originals still identify them.
CUresult set_child(Machine& machine, GraphNode& node, CUgraph child) {
  auto* const work = std::get_if<ChildWork>(&node.work);
  const Graph* const source = machine.graphs.find(child);
  if (work == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphNode* at = nullptr;
  const auto same = update_graph(*work->graph, *source, at);
  return same == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Calls body(work) for every node of that kind, in child graphs too.
template <class Kind, class Body>
void for_each(const Graph& graph, Body body) {
  for (const auto& node : graph.nodes) {
    if (const auto* const work = std::get_if<Kind>(&node->work)) body(*work);
    if (const auto* const child = std::get_if<ChildWork>(&node->work)) for_each<Kind>(*child->graph, body);
  }
}

// Whether memory of an earlier launch is still allocated, which only executables with automatic frees may launch over.
bool has_left_over(Machine& machine, const GraphExec& exec) {
  bool found = false;
  for_each<AllocWork>(*exec.graph, [&](const AllocWork& work) {
    found = found || machine.graph_allocations.is_allocated(work.memory->address());
  });
  return found && (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) == 0;
}

void note_allocations(Machine& machine, const Graph& graph) {
  for_each<AllocWork>(graph,
                      [&](const AllocWork& work) { machine.graph_allocations.allocate(work.memory->address()); });
  for_each<FreeWork>(graph, [&](const FreeWork& work) { (void)machine.graph_allocations.free(Address(work.address)); });
}

// The condition values of a graph must live as long as kernels may set them, and the program's user objects in a graph
// as long as its work may use them.
CUresult run(Machine& machine, const std::shared_ptr<Graph>& graph, StreamId stream) {
  const bool decides = has_conditional(*graph);
  if (decides) SOFTCUDA_TRY(queue_defaults(machine, *graph, stream));
  SOFTCUDA_TRY(run_graph(machine, *graph, stream));
  if (!decides && graph->objects.empty()) return CUDA_SUCCESS;
  // Holds the current objects, since an update may remove them before the work is over. They are released in the host
  // function, not where the device deletes the queued work.
  using Held = std::pair<std::shared_ptr<Graph>, HeldObjects>;
  const auto held = std::make_shared<std::optional<Held>>(Held{graph, graph->objects});
  return to_result(machine.driver.host_function(stream, [held] { held->reset(); }));
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = instantiate(exec, graph, params->flags);
  params->hErrNode_out = nullptr;
  params->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  return result;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return on_exec(handle, [](Machine& machine, GraphExec& exec) {
    machine.graphs.destroy(&exec);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_exec(handle, [&](Machine&, GraphExec& exec) {
    *flags = exec.flags;
    return CUDA_SUCCESS;
  });
}

// A device that reads host memory needs no upload.
CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return on_exec(handle,
                 [&](Machine& machine, GraphExec&) { return to_result(machine.streams.resolve(stream).status()); });
}

// No graph contains a launch: it invalidates a capture.
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return on_exec(handle, [&](Machine& machine, GraphExec& exec) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    SOFTCUDA_TRY(machine.captures.refuse_wait(id.value()));
    if (has_left_over(machine, exec)) return CUDA_ERROR_INVALID_VALUE;
    note_allocations(machine, *exec.graph);
    return run(machine, exec.graph, id.value());
  });
}

// ---- changes -----------------------------------------------------------------------------------

CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph source, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_exec(handle, [&](Machine& machine, GraphExec& exec) {
    const Graph* const graph = machine.graphs.find(source);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const GraphNode* at = nullptr;
    *info = {};
    info->result = update_graph(*exec.graph, *graph, at);
    info->errorNode = handle_of(at);
    return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
  }
  return set_copy(exec, node, params->type, params);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return set_copy(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, params);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params, CUcontext) {
  return set_copy(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, params);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                        CUcontext) {
  return set_copy(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, params);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_copy(exec, node, CU_GRAPH_NODE_TYPE_HOST, params);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return on_copy(exec, node, [&](Machine& machine, GraphNode& copy) { return set_child(machine, copy, child); });
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_event<RecordWork>(exec, node, event);
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_event<WaitWork>(exec, node, event);
}

// Only device operations can be disabled.
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return on_copy(exec, node, [&](Machine&, GraphNode& copy) {
    const bool batch = std::holds_alternative<BatchWork>(copy.work);
    if (type_of(copy.work) > CU_GRAPH_NODE_TYPE_MEMSET && !batch) return CUDA_ERROR_INVALID_VALUE;
    copy.enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_copy(exec, node, [&](Machine&, GraphNode& copy) {
    *enabled = copy.enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
