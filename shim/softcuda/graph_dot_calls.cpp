// cuGraphDebugDotPrint: the structure of a graph as a DOT file.
#include <array>
#include <fstream>
#include <string>
#include <unordered_map>

#include <fmt/core.h>

#include "graph_call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

bool asks(unsigned flags, unsigned flag) { return (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | flag)) != 0; }

const char* kind_of(const Work& work) {
  static constexpr std::array<const char*, std::variant_size_v<Work>> kNames = {
      "KERNEL",     "MEMCPY",   "MEMSET",    "HOST",     "GRAPH",        "EMPTY",       "EVENT_WAIT",  "EVENT_RECORD",
      "SEM_SIGNAL", "SEM_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL", "MEMCPY_BATCH"};
  return kNames[work.index()];
}

// Lines about the node's parameters, as far as `flags` ask for them.
std::string parameters_of(const Work& work, unsigned flags) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    if (!asks(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) return kernel->kernel->name;
    const KernelShape& shape = kernel->shape;
    return fmt::format("{}\\n<<<({},{},{}),({},{},{}),{}>>>", kernel->kernel->name, shape.grid.x, shape.grid.y,
                       shape.grid.z, shape.block.x, shape.block.y, shape.block.z, shape.shared);
  }
  const auto* copy = std::get_if<CopyWork>(&work);
  if (copy != nullptr && asks(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) {
    return fmt::format("{}x{}x{} bytes", copy->copy.WidthInBytes, copy->copy.Height, copy->copy.Depth);
  }
  const auto* fill = std::get_if<FillWork>(&work);
  if (fill != nullptr && asks(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
    return fmt::format("{:#x} = {}\\n{}x{} of {} bytes", fill->fill.dst, fill->fill.value, fill->fill.width,
                       fill->fill.height, fill->fill.elementSize);
  }
  const auto* freed = std::get_if<FreeWork>(&work);
  if (freed != nullptr && asks(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) {
    return fmt::format("{:#x}", freed->address);
  }
  return "";
}

// A cluster for the graph, one for each child graph, and their numbers in the order of creation.
class Dot {
 public:
  explicit Dot(unsigned flags) : flags_(flags) {}

  std::string text(const Graph& graph) {
    add(graph);
    return "digraph dot {\n" + text_ + "}\n";
  }

 private:
  void add(const Graph& graph) {
    const std::size_t number = graphs_++;
    std::unordered_map<const GraphNode*, std::size_t> numbers;
    std::vector<const Graph*> inner;
    text_ += fmt::format("subgraph cluster_{} {{\nlabel=\"graph_{}\"\n", number, number);
    for (const auto& node : graph.nodes) {
      const std::size_t own = numbers.size();
      numbers.emplace(node.get(), own);
      std::string label = fmt::format("{}\\n{}", own, kind_of(node->work));
      if (asks(flags_, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
        label += fmt::format("\\nnode handle: {}", static_cast<const void*>(node.get()));
      }
      const std::string parameters = parameters_of(node->work, flags_);
      if (!parameters.empty()) label += "\\n" + parameters;
      text_ += fmt::format("\"graph_{}_node_{}\" [shape=\"rectangle\" label=\"{}\"]\n", number, own, label);
      if (const auto* child = std::get_if<ChildWork>(&node->work)) inner.push_back(child->graph.get());
    }
    for (const auto& node : graph.nodes) {
      for (const GraphNode* before : node->after) {
        text_ += fmt::format("\"graph_{0}_node_{1}\" -> \"graph_{0}_node_{2}\"\n", number, numbers.at(before),
                             numbers.at(node.get()));
      }
    }
    text_ += "}\n";
    for (const Graph* child : inner) add(*child);
  }

  const unsigned flags_;
  std::size_t graphs_ = 0;
  std::string text_;
};

}  // namespace

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned flags) {
  return on_graph(handle, [&](Machine&, Graph& graph) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ofstream file(path, std::ios::trunc);
    file << Dot(flags).text(graph);
    return file.flush() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}
