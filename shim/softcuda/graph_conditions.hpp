// Conditional nodes: a value that kernels set, and the graphs among which it decides.
//
// A GPU decides by itself while the graph runs. Here whoever queues the graph does: it waits for
// the stream at each conditional node, reads the value, and queues the body that it names. So a
// launch takes as long as what comes before the last decision.
//
// Thread safety: the value may be set by kernels of any device; the rest is a graph's.
#pragma once

#include <memory>
#include <vector>

#include "cuda_api.hpp"
#include "driver/driver.hpp"

namespace tessera::softcuda {

struct Graph;
class Machine;

// The handle that a program has is the address of the value: kernels set it by that.
struct GraphCondition {
  unsigned value = 0;  // read and written as one, in any thread
  unsigned at_launch = 0;
  bool set_at_launch = false;
};

struct ConditionalWork {
  std::shared_ptr<GraphCondition> condition;
  CUgraphConditionalNodeType kind = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;     // the node's own
  std::shared_ptr<std::vector<CUgraph>> handles;  // of the bodies, where a program is pointed to
  CUcontext context = nullptr;
};

inline CUgraphConditionalHandle handle_of(const GraphCondition& condition) {
  return reinterpret_cast<CUgraphConditionalHandle>(&condition.value);
}

// With empty bodies. Errors: CUDA_ERROR_INVALID_VALUE for a handle that is none of `graph` or a graph around it, and for a number
// of bodies that the kind does not take.
CUresult make_conditional_work(const Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params,
                               ConditionalWork& work);
// Decides, and queues what was decided for. Errors: of the work before it, or of a body.
CUresult run_conditional(Machine& machine, const ConditionalWork& work, StreamId stream);
// Queues that all values of the graph are as they shall be when it is launched.
CUresult queue_defaults(Machine& machine, const Graph& graph, StreamId stream);
// Such a graph can be neither cloned nor be a child.
bool has_conditional(const Graph& graph);

}  // namespace tessera::softcuda
