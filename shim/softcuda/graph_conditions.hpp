// Conditional nodes: a value set by kernels, and the graphs selected by it.
//
// A GPU decides by itself while the graph runs. Here the thread that queues the graph decides: at each conditional node
// it waits for the stream, reads the value, and queues the selected body. So a launch call takes as long as the work
// before the last decision.
//
// Thread safety: kernels of any device may set the value; the rest is guarded like its graph.
#pragma once

#include <memory>
#include <vector>

#include "cuda_api.hpp"
#include "driver/driver.hpp"

namespace tessera::softcuda {

struct Graph;
class Machine;

// The program's handle is the address of the value, through which kernels set it.
struct GraphCondition {
  unsigned value = 0;  // accessed atomically, by any thread
  unsigned at_launch = 0;
  bool set_at_launch = false;
};

struct ConditionalWork {
  std::shared_ptr<GraphCondition> condition;
  CUgraphConditionalNodeType kind = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;     // owned by the node
  std::shared_ptr<std::vector<CUgraph>> handles;  // of the bodies; returned to the program by pointer
  CUcontext context = nullptr;
};

inline CUgraphConditionalHandle handle_of(const GraphCondition& condition) {
  return reinterpret_cast<CUgraphConditionalHandle>(&condition.value);
}

// Creates the work with empty bodies. Errors: CUDA_ERROR_INVALID_VALUE for a handle that belongs neither to `graph` nor
// to an enclosing graph, and for a number of bodies that does not fit the kind.
CUresult make_conditional_work(const Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params, ConditionalWork& work);
// Decides, and queues the selected body. Errors: of the work before it, or of a body.
CUresult run_conditional(Machine& machine, const ConditionalWork& work, StreamId stream);
// Queues the initialisation of all values of the graph to their launch defaults.
CUresult queue_defaults(Machine& machine, const Graph& graph, StreamId stream);
// A graph with conditional nodes can be neither cloned nor used as a child.
bool has_conditional(const Graph& graph);

}  // namespace tessera::softcuda
