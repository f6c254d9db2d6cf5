#include "graph_work.hpp"

#include <cstring>

#include "boxes.hpp"
#include "call.hpp"
#include "graphs.hpp"

namespace tessera::softcuda {
namespace {

CUDA_KERNEL_NODE_PARAMS plain(const CUDA_KERNEL_NODE_PARAMS_v3& params) {
  return {params.func,         params.gridDimX,  params.gridDimY,  params.gridDimZ,
          params.blockDimX,    params.blockDimY, params.blockDimZ, params.sharedMemBytes,
          params.kernelParams, params.extra,     params.kern,      params.ctx};
}

CUDA_MEMSET_NODE_PARAMS plain(const CUDA_MEMSET_NODE_PARAMS_v2& params) {
  return {params.dst, params.pitch, params.value, params.elementSize, params.width, params.height};
}

CUresult make_child_work(Machine& machine, CUgraph handle, Work& work) {
  const Graph* const graph = machine.graphs.find(handle);
  if (graph == nullptr || has_conditional(*graph)) return CUDA_ERROR_INVALID_VALUE;
  work = ChildWork{clone(*graph)};
  return CUDA_SUCCESS;
}

// Finds the function for `given`, and the handles that the node will report. Unlike a launch, a node takes no kernel
// that was cast to CUfunction.
CUresult find_function(Machine& machine, const KernelHandles& given, KernelHandles& handles, Function*& function) {
  if (given.func != nullptr) {
    SOFTCUDA_TRY(find_launchable(machine, given.func, *current_context(), function));
    if (handle_of(function) != given.func) return CUDA_ERROR_INVALID_HANDLE;
    handles.func = given.func;
    return CUDA_SUCCESS;
  }
  Context* const current = current_context();  // not null: graph calls need a current context
  Context* const context = given.ctx != nullptr ? machine.contexts.find(given.ctx) : current;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = machine.modules.function_of(given.kern, machine.contexts.memory_of(*context));
  if (!found.is_ok()) return to_result(found.status());
  function = found.value();
  handles = {nullptr, given.kern, handle_of(context)};
  return CUDA_SUCCESS;
}

// The union member that an older cuda.h does not declare.
CUresult make_batch_work(const CUgraphNodeParams& params, Work& work) {
  CUDA_MEMCPY_BATCH_NODE_PARAMS batch;
  std::memcpy(&batch, &params.reserved1, sizeof(batch));
  BatchWork made;
  SOFTCUDA_TRY(make_batch_work(batch, made));
  work = std::move(made);
  return CUDA_SUCCESS;
}

struct Runner {
  Machine& machine;
  StreamId stream;

  CUresult operator()(const KernelWork& work) const {
    return to_result(machine.driver.launch({.kernel = work.kernel,
                                            .grid = work.shape.grid,
                                            .block = work.shape.block,
                                            .shared_bytes = work.shape.shared,
                                            .parameters = work.packed},
                                           stream));
  }
  CUresult operator()(const CopyWork& work) const { return copy_recorded_box(machine, work.copy, stream); }
  CUresult operator()(const FillWork& work) const { return set_rows(machine, work.fill, stream); }
  CUresult operator()(const HostWork& work) const {
    const CUDA_HOST_NODE_PARAMS call = work.call;
    return to_result(machine.driver.host_function(stream, [call] { call.fn(call.userData); }));
  }
  CUresult operator()(const ChildWork& work) const { return run_graph(machine, *work.graph, stream); }
  CUresult operator()(const EmptyWork&) const { return CUDA_SUCCESS; }
  CUresult operator()(const WaitWork& work) const { return to_result(machine.streams.wait(stream, work.event)); }
  CUresult operator()(const RecordWork& work) const { return to_result(machine.streams.record(work.event, stream)); }
  CUresult operator()(const SignalWork&) const { return CUDA_ERROR_NOT_SUPPORTED; }
  CUresult operator()(const AwaitWork&) const { return CUDA_ERROR_NOT_SUPPORTED; }
  // The memory exists all the time, but its old contents are overwritten, as may happen on a GPU.
  CUresult operator()(const AllocWork& work) const {
    const GraphMemory& memory = *work.memory;
    return set_rows(machine, {memory.address().value(), 0, 0xcd, 1, memory.bytes().value(), 1}, stream);
  }
  CUresult operator()(const FreeWork&) const { return CUDA_SUCCESS; }
  CUresult operator()(const WordsWork&) const { return CUDA_ERROR_NOT_SUPPORTED; }
  CUresult operator()(const ConditionalWork& work) const { return run_conditional(machine, work, stream); }
  CUresult operator()(const BatchWork& work) const { return run_batch(machine, work, stream); }
};

}  // namespace

CUresult make_work(Machine& machine, const CUDA_KERNEL_NODE_PARAMS& params, Work& work) {
  KernelWork made;
  made.shape = {{params.gridDimX, params.gridDimY, params.gridDimZ},
                {params.blockDimX, params.blockDimY, params.blockDimZ},
                params.sharedMemBytes};
  Function* function = nullptr;
  SOFTCUDA_TRY(find_function(machine, {params.func, params.kern, params.ctx}, made.handles, function));
  SOFTCUDA_TRY(check_launch(*function, made.shape));
  made.kernel = function->kernel;
  made.in_buffer = params.extra != nullptr;
  made.packed.resize(made.kernel->parameter_bytes);
  SOFTCUDA_TRY(pack_parameters(*made.kernel, params.kernelParams, params.extra, made.packed));
  work = std::move(made);
  return CUDA_SUCCESS;
}

CUresult make_work(Machine& machine, const CUDA_MEMCPY3D& params, Work& work) {
  SOFTCUDA_TRY(check_box(params));
  SOFTCUDA_TRY(check_memory(machine, params));
  work = CopyWork{params};
  return CUDA_SUCCESS;
}

CUresult make_work(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& params, Work& work) {
  SOFTCUDA_TRY(check_rows(params));
  SOFTCUDA_TRY(check_memory(machine, params));
  work = FillWork{params};
  return CUDA_SUCCESS;
}

CUresult make_work(Machine&, const CUDA_HOST_NODE_PARAMS& params, Work& work) {
  if (params.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  work = HostWork{params};
  return CUDA_SUCCESS;
}

template <class EventWork>
CUresult make_event_work(Machine& machine, CUevent event, Work& work) {
  const auto known = machine.streams.find_event(event);
  if (!known.is_ok()) return to_result(known.status());
  work = EventWork{event};
  return CUDA_SUCCESS;
}
template CUresult make_event_work<WaitWork>(Machine& machine, CUevent event, Work& work);
template CUresult make_event_work<RecordWork>(Machine& machine, CUevent event, Work& work);

CUresult make_work(Machine& machine, const CUgraphNodeParams& params, Work& work) {
  switch (static_cast<int>(params.type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return make_work(machine, plain(params.kernel), work);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return make_work(machine, params.memcpy.copyParams, work);
    case CU_GRAPH_NODE_TYPE_MEMSET: return make_work(machine, plain(params.memset), work);
    case CU_GRAPH_NODE_TYPE_HOST:
      return make_work(machine, CUDA_HOST_NODE_PARAMS{params.host.fn, params.host.userData}, work);
    case CU_GRAPH_NODE_TYPE_GRAPH: return make_child_work(machine, params.graph.graph, work);
    case CU_GRAPH_NODE_TYPE_EMPTY: work = EmptyWork{}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return make_event_work<WaitWork>(machine, params.eventWait.event, work);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return make_event_work<RecordWork>(machine, params.eventRecord.event, work);
    case TESSERA_NODE_TYPE_MEMCPY_BATCH: return make_batch_work(params, work);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult run_work(Machine& machine, const Work& work, StreamId stream) {
  return std::visit(Runner{machine, stream}, work);
}

}  // namespace tessera::softcuda
