#include "graph_words.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "box_extents.hpp"
#include "copied_words.hpp"
#include "memory_operations.hpp"
#include "outcome.hpp"
#include "parameter_words.hpp"
#include "program_waits.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

std::mutex bodies_lock;

// Never destroyed: programs destroy their graphs in exit handlers.
std::unordered_map<CUgraphNode, std::vector<CUgraph>>& bodies() {
  static auto& all = *new std::unordered_map<CUgraphNode, std::vector<CUgraph>>;
  return all;
}

std::vector<CUgraph> bodies_of(CUgraphNode node) {
  const std::lock_guard<std::mutex> lock(bodies_lock);
  const auto known = bodies().find(node);
  return known != bodies().end() ? known->second : std::vector<CUgraph>();
}

bool any_bodies() {
  const std::lock_guard<std::mutex> lock(bodies_lock);
  return !bodies().empty();
}

CUresult read_handles(CUgraph graph, std::vector<CUgraphNode>& nodes) {
  std::size_t count = 0;
  const CUresult result = call_true(&TrueDriver::cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &count);
  if (result != CUDA_SUCCESS || count == 0) return result;
  nodes.resize(count);
  return call_true(&TrueDriver::cuGraphGetNodes, graph, nodes.data(), &count);
}

void take_bodies_in(CUgraph graph, KnownBodies& taken);

void take_bodies(CUgraphNode node, KnownBodies& taken) {
  std::vector<CUgraph> graphs;
  {
    const std::lock_guard<std::mutex> lock(bodies_lock);
    auto known = bodies().extract(node);
    if (known.empty()) return;
    graphs = std::move(known.mapped());
  }
  taken.emplace_back(node, graphs);
  for (const CUgraph graph : graphs) take_bodies_in(graph, taken);
}

void take_bodies_in(CUgraph graph, KnownBodies& taken) {
  std::vector<CUgraphNode> nodes;
  if (!any_bodies() || read_handles(graph, nodes) != CUDA_SUCCESS) return;
  for (const CUgraphNode node : nodes) take_bodies(node, taken);
}

void add_if_managed(Words& words, CUdeviceptr address) {
  if (managed(address)) words.certain.push_back(address);
}

// Records copies that may write addresses to memory that kernels read: not those to host memory, nor those between
// memory of the driver's own.
void add_line(Words& words, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (from == 0 || bytes > kMostSearched) return;
  const bool counts = managed(to) || (!is_host_memory(to) && (managed(from) || is_host_memory(from)));
  if (counts) words.copies.push_back({.to = to, .from = from, .bytes = bytes});
}

// Strided copies are left out: their bytes are not contiguous.
void add_copy(Words& words, const CUDA_MEMCPY3D_v2& params) {
  const CUdeviceptr to = target_of(&params).address;
  const bool is_line = params.Height == 1 && params.Depth == 1;
  if (to == 0 || !is_line) return;
  CUdeviceptr from = source_of(&params).address;
  if (params.srcMemoryType == CU_MEMORYTYPE_HOST) {
    from = reinterpret_cast<CUdeviceptr>(params.srcHost) + params.srcXInBytes;
  }
  add_line(words, to, from, params.WidthInBytes);
}

Words words_of_operations(const CUstreamBatchMemOpParams* operations, unsigned count) {
  Words words;
  for (unsigned i = 0; operations != nullptr && i < count; ++i) {
    add_if_managed(words, word_of(operations[i]));
  }
  return words;
}

// The union member that an older cuda.h does not declare.
template <class Member>
Member member_of(const CUgraphNodeParams& params) {
  Member member;
  std::memcpy(&member, &params.reserved1, sizeof(member));
  return member;
}

Words words_of_batch(const CUgraphNodeParams& params) {
  const auto batch = member_of<CUDA_MEMCPY_BATCH_NODE_PARAMS>(params);
  Words words;
  for (std::size_t i = 0; batch.dsts != nullptr && batch.srcs != nullptr && i < batch.count; ++i) {
    add_if_managed(words, batch.dsts[i]);
    add_if_managed(words, batch.srcs[i]);
    if (batch.sizes != nullptr) add_line(words, batch.dsts[i], batch.srcs[i], batch.sizes[i]);
  }
  return words;
}

Words words_of_fabric_batch(const CUgraphNodeParams& params) {
  const auto batch = member_of<CUDA_FABRIC_CPY_BATCH_NODE_PARAMS>(params);
  Words words;
  for (std::size_t i = 0; batch.opList != nullptr && i < batch.numOps; ++i) {
    const CUDA_FABRIC_COPY_BATCH_OP& copy = batch.opList[i];
    const bool reads = copy.src.type == CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
    const bool writes = copy.dst.type == CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
    if (reads) add_if_managed(words, copy.src.op.ptr.ptr);
    if (writes) add_if_managed(words, copy.dst.op.ptr.ptr);
    if (reads && writes) add_line(words, copy.dst.op.ptr.ptr, copy.src.op.ptr.ptr, copy.size);
  }
  return words;
}

// Uses only the members common to all versions of a kernel node's parameters.
template <class Params>
Words words_of_launch(const Params& params, CUfunction function) {
  FoundWords found;
  const char* name = nullptr;
  Words words;
  words.any_block =
      !read_parameters(function, params.kernelParams, params.extra, {params.gridDimX, params.gridDimY}, found, name);
  words.append(found.words());
  words.given = words.certain;
  return words;
}

// The words of the parameters that `get` returns for a node.
template <class Params, class Get>
CUresult read_params(CUgraphNode node, Get TrueDriver::*get, Words& words) {
  Params params{};
  const CUresult result = call_true(get, node, &params);
  if (result == CUDA_SUCCESS) words = words_of(params);
  return result;
}

// Of a node whose addresses the driver resolves when the graph is instantiated.
template <class Params, class Get>
CUresult read_resolved(CUgraphNode node, Get TrueDriver::*get, GraphWords& found) {
  Words& words = found.by_node[node];
  const CUresult result = read_params<Params>(node, get, words);
  found.resolved.insert(found.resolved.end(), words.certain.begin(), words.certain.end());
  return result;
}

CUresult read_kernel(CUgraphNode node, GraphWords& found) {
  CUlaunchAttributeValue updatable{};
  const CUresult told = call_true(&TrueDriver::cuGraphKernelNodeGetAttribute, node,
                                  CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &updatable);
  if (told == CUDA_SUCCESS && updatable.deviceUpdatableKernelNode.deviceUpdatable != 0) {
    found.changed_by_device = true;
  }
  return read_params<CUDA_KERNEL_NODE_PARAMS_v2>(node, &TrueDriver::cuGraphKernelNodeGetParams_v2, found.by_node[node]);
}

CUresult read_child(CUgraphNode node, GraphWords& found) {
  CUgraph child = nullptr;
  const CUresult result = call_true(&TrueDriver::cuGraphChildGraphNodeGetGraph, node, &child);
  return result == CUDA_SUCCESS ? read_graph(child, found) : result;
}

CUresult read_bodies(CUgraphNode node, GraphWords& found) {
  const std::vector<CUgraph> graphs = bodies_of(node);
  if (graphs.empty()) return CUDA_ERROR_NOT_FOUND;
  const bool outer = std::exchange(found.in_body, true);
  CUresult result = CUDA_SUCCESS;
  for (auto body = graphs.begin(); body != graphs.end() && result == CUDA_SUCCESS; ++body) {
    result = read_graph(*body, found);
  }
  found.in_body = outer;
  return result;
}

CUresult read_node(CUgraphNode node, GraphWords& found) {
  CUgraphNodeType type{};
  const CUresult known = call_true(&TrueDriver::cuGraphNodeGetType, node, &type);
  if (known != CUDA_SUCCESS) return known;
  switch (static_cast<int>(type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return read_kernel(node, found);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return read_resolved<CUDA_MEMCPY3D_v2>(node, &TrueDriver::cuGraphMemcpyNodeGetParams, found);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return read_resolved<CUDA_MEMSET_NODE_PARAMS_v1>(node, &TrueDriver::cuGraphMemsetNodeGetParams, found);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return read_params<CUDA_BATCH_MEM_OP_NODE_PARAMS>(node, &TrueDriver::cuGraphBatchMemOpNodeGetParams,
                                                        found.by_node[node]);
    case CU_GRAPH_NODE_TYPE_GRAPH: return read_child(node, found);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return read_bodies(node, found);
    case TESSERA_NODE_TYPE_MEMCPY_BATCH:
    case TESSERA_NODE_TYPE_FABRIC_CPY_BATCH:
      return read_resolved<CUgraphNodeParams>(node, &TrueDriver::cuGraphNodeGetParams, found);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: program_events().tell_nothing(); return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return CUDA_SUCCESS;  // no managed block
    default: return CUDA_ERROR_NOT_SUPPORTED;               // a newer kind of node
  }
}

}  // namespace

CUresult read_graph(CUgraph graph, GraphWords& found) {
  std::vector<CUgraphNode> nodes;
  if (const CUresult result = read_handles(graph, nodes); result != CUDA_SUCCESS) return result;
  for (const CUgraphNode node : nodes) {
    found.places[node] = {found.places.size(), found.in_body};
    if (read_node(node, found) != CUDA_SUCCESS) found.by_node[node].any_block = true;
  }
  return CUDA_SUCCESS;
}

Words words_of(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
  const auto kernel = reinterpret_cast<CUfunction>(params.kern);
  return words_of_launch(params, params.func != nullptr ? params.func : kernel);
}

Words words_of(const CUDA_KERNEL_NODE_PARAMS_v1& params) { return words_of_launch(params, params.func); }

Words words_of(const CUDA_MEMCPY3D_v2& params) {
  Words words;
  add_copy(words, params);
  add_if_managed(words, source_of(&params).address);
  add_if_managed(words, target_of(&params).address);
  return words;
}

Words words_of(const CUDA_MEMSET_NODE_PARAMS_v1& params) {
  Words words;
  add_if_managed(words, params.dst);
  return words;
}

Words words_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
  return words_of_operations(params.paramArray, params.count);
}

Words words_of(const CUgraphNodeParams& params) {
  switch (static_cast<int>(params.type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& launch = params.kernel;
      const auto kernel = reinterpret_cast<CUfunction>(launch.kern);
      return words_of_launch(launch, launch.func != nullptr ? launch.func : kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return words_of(params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      Words words;
      add_if_managed(words, params.memset.dst);
      return words;
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return words_of_operations(params.memOp.paramArray, params.memOp.count);
    case TESSERA_NODE_TYPE_MEMCPY_BATCH: return words_of_batch(params);
    case TESSERA_NODE_TYPE_FABRIC_CPY_BATCH: return words_of_fabric_batch(params);
    default: return {};
  }
}

void note_bodies(CUgraphNode node, std::span<const CUgraph> graphs) {
  const std::lock_guard<std::mutex> lock(bodies_lock);
  bodies()[node].assign(graphs.begin(), graphs.end());
}

KnownBodies forget_bodies(CUgraphNode node) {
  KnownBodies taken;
  take_bodies(node, taken);
  return taken;
}

KnownBodies forget_bodies_in(CUgraph graph) {
  KnownBodies taken;
  take_bodies_in(graph, taken);
  return taken;
}

}  // namespace tessera::preload
