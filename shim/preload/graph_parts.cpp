#include "graph_parts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lifecycle.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr std::uint64_t kPage = 2 << 20;  // blocks below share one, others have their own

using Nodes = std::vector<CUgraphNode>;
using Edges = std::pair<Nodes, Nodes>;  // from, to
using Pages = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // first and last, of one run

CUresult read_edges(CUgraph graph, Edges& edges) {
  std::size_t count = 0;
  const auto read = [&](CUgraphNode* from, CUgraphNode* to) {
    return call_true(&TrueDriver::cuGraphGetEdges_v2, graph, from, to,
                     static_cast<CUgraphEdgeData*>(nullptr), &count);
  };
  const CUresult counted = read(nullptr, nullptr);
  if (counted != CUDA_SUCCESS || count == 0) return counted;
  edges.first.resize(count);
  edges.second.resize(count);
  return read(edges.first.data(), edges.second.data());
}

bool read_nodes(CUgraph graph, Nodes& nodes) {
  std::size_t count = 0;
  if (call_true(&TrueDriver::cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &count) !=
      CUDA_SUCCESS) {
    return false;
  }
  nodes.resize(count);
  return count == 0 ||
         call_true(&TrueDriver::cuGraphGetNodes, graph, nodes.data(), &count) == CUDA_SUCCESS;
}

bool type_of(CUgraphNode node, CUgraphNodeType& type) {
  return call_true(&TrueDriver::cuGraphNodeGetType, node, &type) == CUDA_SUCCESS;
}

// The kinds that CUDA can disable, and those that do nothing.
bool can_be_cut(CUgraphNode node) {
  CUgraphNodeType type{};
  return type_of(node, type) &&
         (type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
          type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_EMPTY);
}

// Of the nodes that may be next, the one that the graph names first.
Nodes sorted(const Nodes& nodes, const Edges& edges) {
  std::map<CUgraphNode, std::size_t> places, waits_for;
  std::multimap<CUgraphNode, CUgraphNode> followers;
  for (std::size_t i = 0; i < nodes.size(); ++i) places[nodes[i]] = i;
  for (std::size_t i = 0; i < edges.first.size(); ++i) {
    followers.emplace(edges.first[i], edges.second[i]);
    ++waits_for[edges.second[i]];
  }
  std::set<std::size_t> ready;
  for (const CUgraphNode node : nodes) {
    if (waits_for[node] == 0) ready.insert(places[node]);
  }
  Nodes order;
  while (!ready.empty()) {
    const CUgraphNode node = nodes[ready.extract(ready.begin()).value()];
    order.push_back(node);
    const auto [begin, end] = followers.equal_range(node);
    for (auto follower = begin; follower != end; ++follower) {
      if (--waits_for[follower->second] == 0) ready.insert(places[follower->second]);
    }
  }
  return order;
}

Pages pages_of(tessera_allocator* allocator, const Words& words) {
  Pages pages;
  for (const std::uint64_t word : words) {
    tessera_block_info block{};
    block.size = sizeof(block);
    if (tessera_query(allocator, word, &block) != TESSERA_OK) continue;
    const std::uint64_t last = block.address + std::max<std::uint64_t>(block.capacity, 1) - 1;
    pages.emplace(block.address / kPage, last / kPage);
  }
  return pages;
}

std::uint64_t bytes_of(const Pages& pages) {
  std::uint64_t bytes = 0;
  for (const auto& [first, last] : pages) bytes += (last - first + 1) * kPage;
  return bytes;
}

// What blocks may fill together; of several devices, each is taken to have its share.
std::uint64_t room_of(tessera_allocator* allocator) {
  tessera_stats stats{};
  stats.size = sizeof(stats);
  if (tessera_get_stats(allocator, &stats) != TESSERA_OK || stats.devices == 0) return 0;
  const std::uint64_t held = stats.pinned_bytes + stats.exposed_bytes;
  return stats.device_capacity > held ? (stats.device_capacity - held) / stats.devices : 0;
}

void add(GraphPart& part, CUgraphNode node, const Words& words) {
  CUgraphNodeType type{};
  if (type_of(node, type) && type != CU_GRAPH_NODE_TYPE_EMPTY) part.nodes.push_back(node);
  part.words.insert(part.words.end(), words.begin(), words.end());
}

void keep_each_once(Words& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

}  // namespace

std::vector<CUgraphNode> order_to_cut(CUgraph graph) {
  Nodes nodes;
  Edges edges;
  if (!read_nodes(graph, nodes) || !std::all_of(nodes.begin(), nodes.end(), can_be_cut)) return {};
  if (read_edges(graph, edges) != CUDA_SUCCESS) return {};
  Nodes order = sorted(nodes, edges);
  return order.size() == nodes.size() ? order : Nodes();
}

std::vector<GraphPart> cut(std::span<const CUgraphNode> order, const GraphWords& words) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return {};
  const std::uint64_t room = room_of(allocator);
  std::vector<GraphPart> parts(1);
  Pages together;
  for (const CUgraphNode node : order) {
    const auto known = words.by_node.find(node);
    const Words own = known != words.by_node.end() ? known->second : Words();
    const Pages pages = pages_of(allocator, own);
    if (bytes_of(pages) > room) return {};
    Pages with_it = together;
    with_it.insert(pages.begin(), pages.end());
    const bool fits = bytes_of(with_it) <= room;
    if (!fits) parts.emplace_back();
    together = fits ? std::move(with_it) : pages;
    add(parts.back(), node, own);
  }
  for (GraphPart& part : parts) keep_each_once(part.words);
  return parts;
}

EnabledNodes::EnabledNodes(CUgraphExec exec, std::span<const GraphPart> parts) : exec_(exec) {
  for (const GraphPart& part : parts) {
    for (const CUgraphNode node : part.nodes) {
      unsigned enabled = 0;
      status_ = call_true(&TrueDriver::cuGraphNodeGetEnabled, exec_, node, &enabled);
      if (status_ != CUDA_SUCCESS) return;
      if (enabled != 0) nodes_.emplace(node, true);
    }
  }
}

EnabledNodes::~EnabledNodes() {
  CUresult result = CUDA_SUCCESS;
  for (const auto& [node, on] : nodes_) {
    const CUresult enabled = on ? CUDA_SUCCESS : enable(node, true);
    if (result == CUDA_SUCCESS) result = enabled;
  }
  if (result != CUDA_SUCCESS) say("a graph that was launched in parts could not be made whole again");
}

CUresult EnabledNodes::enable(CUgraphNode node, bool on) {
  return call_true(&TrueDriver::cuGraphNodeSetEnabled, exec_, node, on ? 1U : 0U);
}

CUresult EnabledNodes::only(const GraphPart& part) {
  const std::set<CUgraphNode> wanted(part.nodes.begin(), part.nodes.end());
  for (auto& [node, on] : nodes_) {
    const bool should = wanted.contains(node);
    if (on == should) continue;
    if (const CUresult result = enable(node, should); result != CUDA_SUCCESS) return result;
    on = should;
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload
