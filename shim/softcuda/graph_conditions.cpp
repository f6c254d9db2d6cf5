#include "graph_conditions.hpp"

#include <algorithm>

#include "call.hpp"
#include "graphs.hpp"

namespace tessera::softcuda {
namespace {

bool takes(CUgraphConditionalNodeType kind, unsigned bodies) {
  switch (kind) {
    case CU_GRAPH_COND_TYPE_IF: return bodies == 1 || bodies == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return bodies == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return bodies > 0;
  }
  return false;
}

// Null if there is none.
std::shared_ptr<GraphCondition> find_condition(const Graph& graph, CUgraphConditionalHandle handle) {
  for (const Graph* at = &graph; at != nullptr; at = at->outer) {
    for (const auto& condition : at->conditions) {
      if (handle_of(*condition) == handle) return condition;
    }
  }
  return nullptr;
}

// Null if there is none.
const Graph* body_for(const ConditionalWork& work, unsigned value) {
  const bool by_number = work.kind == CU_GRAPH_COND_TYPE_SWITCH;
  const std::size_t place = by_number ? value : (value != 0 ? 0 : 1);
  return place < work.bodies.size() ? work.bodies[place].get() : nullptr;
}

}  // namespace

CUresult make_conditional_work(const Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params, ConditionalWork& work) {
  work.condition = find_condition(graph, params.handle);
  if (work.condition == nullptr || !takes(params.type, params.size)) return CUDA_ERROR_INVALID_VALUE;
  work.kind = params.type;
  work.context = params.ctx;
  work.handles = std::make_shared<std::vector<CUgraph>>();
  for (unsigned i = 0; i < params.size; ++i) {
    work.bodies.push_back(std::make_shared<Graph>());
    work.handles->push_back(handle_of(work.bodies.back().get()));
  }
  return CUDA_SUCCESS;
}

CUresult run_conditional(Machine& machine, const ConditionalWork& work, StreamId stream) {
  for (;;) {
    SOFTCUDA_TRY(to_result(machine.driver.synchronize(stream)));
    const Graph* const body = body_for(work, __atomic_load_n(&work.condition->value, __ATOMIC_ACQUIRE));
    if (body == nullptr) return CUDA_SUCCESS;
    SOFTCUDA_TRY(run_graph(machine, *body, stream));
    if (work.kind != CU_GRAPH_COND_TYPE_WHILE) return CUDA_SUCCESS;
  }
}

CUresult queue_defaults(Machine& machine, const Graph& graph, StreamId stream) {
  for (const auto& node : graph.nodes) {
    const auto* const work = std::get_if<ConditionalWork>(&node->work);
    if (work == nullptr) continue;
    const auto condition = work->condition;
    if (condition->set_at_launch) {
      SOFTCUDA_TRY(to_result(machine.driver.host_function(
          stream, [condition] { __atomic_store_n(&condition->value, condition->at_launch, __ATOMIC_RELEASE); })));
    }
    for (const auto& body : work->bodies) SOFTCUDA_TRY(queue_defaults(machine, *body, stream));
  }
  return CUDA_SUCCESS;
}

bool has_conditional(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const auto& node) { return std::holds_alternative<ConditionalWork>(node->work); });
}

}  // namespace tessera::softcuda
