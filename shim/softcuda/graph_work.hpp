// The operation of one graph node: plain values, checked when the node is made and queued when it runs.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "batch_work.hpp"
#include "cuda_api.hpp"
#include "graph_conditions.hpp"
#include "graph_memory.hpp"
#include "kernel_launch.hpp"

namespace tessera::softcuda {

struct Graph;

// The target of a kernel node: a function, or a kernel in a context.
struct KernelHandles {
  CUfunction func = nullptr;
  CUkernel kern = nullptr;
  CUcontext ctx = nullptr;
};

struct KernelWork {
  KernelHandles handles;
  const sim_kernel* kernel = nullptr;  // the program keeps its module loaded
  KernelShape shape;
  std::vector<std::byte> packed;
  bool in_buffer = false;  // the parameters were passed as one buffer (`extra`)
};
struct CopyWork {
  CUDA_MEMCPY3D copy;
};
struct FillWork {
  CUDA_MEMSET_NODE_PARAMS fill;
};
struct HostWork {
  CUDA_HOST_NODE_PARAMS call;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;  // owned by the node
};
struct EmptyWork {};
struct WaitWork {
  CUevent event;
};
struct RecordWork {
  CUevent event;
};

struct SignalWork {};  // external semaphores: not supported, but needed for the numbering
struct AwaitWork {};
struct AllocWork {
  std::shared_ptr<GraphMemory> memory;
};
struct FreeWork {
  CUdeviceptr address = 0;
};
struct WordsWork {};  // waits for and writes of single words: not supported either

// The index in the list is the CUgraphNodeType.
using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork,
                          SignalWork, AwaitWork, AllocWork, FreeWork, WordsWork, ConditionalWork, BatchWork>;

inline CUgraphNodeType type_of(const Work& work) { return static_cast<CUgraphNodeType>(work.index()); }

// Each makes one kind of work from the program's parameters. Errors: as for the call that would queue it directly:
// memory that is copied or set must be mapped already.
CUresult make_work(Machine& machine, const CUDA_KERNEL_NODE_PARAMS& params, Work& work);
CUresult make_work(Machine& machine, const CUDA_MEMCPY3D& params, Work& work);
CUresult make_work(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& params, Work& work);
CUresult make_work(Machine& machine, const CUDA_HOST_NODE_PARAMS& params, Work& work);
// Work of any type accepted by cuGraphAddNode; child graphs are cloned.
CUresult make_work(Machine& machine, const CUgraphNodeParams& params, Work& work);
// WaitWork or RecordWork.
template <class EventWork>
CUresult make_event_work(Machine& machine, CUevent event, Work& work);

// Queues the work; for a child graph, all of its nodes in order.
CUresult run_work(Machine& machine, const Work& work, StreamId stream);

}  // namespace tessera::softcuda
