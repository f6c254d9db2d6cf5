#include "graph_parts.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "lifecycle.hpp"
#include "mapped_memory.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr std::uint64_t kPage = 2 << 20;  // smaller blocks share a page, others have their own

using Pages = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // first and last page of one run

void CUDA_CB call_nothing(void*) {}

enum class InRanges { kHandle, kAll };

// The pages that a launch needs: see tessera_use_begin_graded. Of memory that the program has mapped, those of the
// handle at the address, or as many as are mapped in its reservation.
Pages pages_of(tessera_allocator* allocator, const Words& words, InRanges in_ranges = InRanges::kAll) {
  Pages pages;
  const auto add = [&](std::uint64_t word, bool certain) {
    tessera_block_info block{};
    block.size = sizeof(block);
    const bool in_block = tessera_query(allocator, word, &block) == TESSERA_OK;
    if (!certain && (!in_block || block.address != word)) return;
    MappedRange range;
    if (in_ranges == InRanges::kAll && find_mapped_range(word, range)) {
      pages.emplace(range.address / kPage, (range.address + range.mapped) / kPage - 1);
      return;
    }
    if (!in_block) return;
    const std::uint64_t last = block.address + std::max<std::uint64_t>(block.capacity, 1) - 1;
    pages.emplace(block.address / kPage, last / kPage);
  };
  for (const std::uint64_t word : words.certain) add(word, true);
  for (const std::uint64_t word : words.likely) add(word, false);
  return pages;
}

std::uint64_t bytes_of(const Pages& pages) {
  std::uint64_t bytes = 0;
  for (const auto& [first, last] : pages) bytes += (last - first + 1) * kPage;
  return bytes;
}

// How many bytes blocks may fill together; with several devices, an equal share each.
std::uint64_t room_of(tessera_allocator* allocator) {
  tessera_stats stats{};
  stats.size = sizeof(stats);
  if (tessera_get_stats(allocator, &stats) != TESSERA_OK || stats.devices == 0) return 0;
  const std::uint64_t held = stats.pinned_bytes + stats.exposed_bytes;
  return stats.device_capacity > held ? (stats.device_capacity - held) / stats.devices : 0;
}

template <class Item>
void append(std::vector<Item>& to, const std::vector<Item>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// If there are words of nodes that are not in the order, it is unknown which part needs them.
bool all_are_of(std::span<const OrderedNode> order, const GraphWords& words) {
  std::unordered_set<CUgraphNode> nodes;
  for (const OrderedNode& node : order) {
    if (can_be_disabled(node.type)) nodes.insert(node.node);
  }
  return std::all_of(words.by_node.begin(), words.by_node.end(),
                     [&](const auto& each) { return each.second.empty() || nodes.contains(each.first); });
}

// Removes from the front of `rest` the nodes that must stay together.
GraphPart take_joined(std::span<const OrderedNode>& rest, const GraphWords& words) {
  GraphPart taken;
  do {
    const OrderedNode& node = rest.front();
    taken.nodes.push_back(node);
    const auto known = words.by_node.find(node.node);
    if (known != words.by_node.end()) taken.words.append(known->second);
    rest = rest.subspan(1);
  } while (!rest.empty() && rest.front().joined);
  return taken;
}

}  // namespace

GraphCut cut(std::span<const OrderedNode> order, const GraphWords& words) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested() || !all_are_of(order, words)) return {};
  const std::uint64_t room = room_of(allocator);
  GraphCut made{std::vector<GraphPart>(1), {}};
  std::vector<GraphPart>& parts = made.parts;
  Pages together;
  std::uint64_t largest = 0;
  while (!order.empty()) {
    GraphPart next = take_joined(order, words);
    const Pages pages = pages_of(allocator, next.words);
    // A range of which not all fits is a part of its own: it gets what does.
    const std::uint64_t least = bytes_of(pages_of(allocator, next.words, InRanges::kHandle));
    if (least > room && least > largest) {
      largest = least;
      made.too_large = std::move(next.words);
    }
    if (largest != 0) continue;
    Pages with_it = together;
    with_it.insert(pages.begin(), pages.end());
    const bool fits = bytes_of(with_it) <= room;
    if (!fits) parts.emplace_back();
    together = fits ? std::move(with_it) : pages;
    append(parts.back().nodes, next.nodes);
    parts.back().words.append(next.words);
  }
  if (largest != 0) parts.clear();
  for (GraphPart& part : parts) part.words.keep_each_once();
  return made;
}

bool fits(const Words& words) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  return allocator == nullptr || entry.nested() || bytes_of(pages_of(allocator, words)) <= room_of(allocator);
}

EnabledNodes::EnabledNodes(CUgraphExec exec, std::span<const GraphPart> parts) : exec_(exec) {
  for (const GraphPart& part : parts) {
    for (const OrderedNode& node : part.nodes) {
      bool enabled = false;
      status_ = read(node, enabled);
      if (status_ != CUDA_SUCCESS) return;
      if (enabled) switches_.push_back({&node, &part, true});
    }
  }
}

EnabledNodes::~EnabledNodes() {
  CUresult result = CUDA_SUCCESS;
  for (const Switch& each : switches_) {
    const CUresult enabled = each.on ? CUDA_SUCCESS : set(*each.node, true);
    if (result == CUDA_SUCCESS) result = enabled;
  }
  // Work queued with the event keeps what it needs of it.
  if (unheeded_ != nullptr) {
    const CUresult destroyed = call_true(&TrueDriver::cuEventDestroy_v2, unheeded_);
    if (result == CUDA_SUCCESS) result = destroyed;
  }
  if (result != CUDA_SUCCESS) say("a graph that was launched in parts could not be restored");
}

// Nodes that need no switching count as not enabled.
CUresult EnabledNodes::read(const OrderedNode& node, bool& enabled) {
  if (can_be_disabled(node.type)) {
    unsigned told = 0;
    const CUresult result = call_true(&TrueDriver::cuGraphNodeGetEnabled, exec_, node.node, &told);
    enabled = told != 0;
    return result;
  }
  const bool records = node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  enabled = records || node.type == CU_GRAPH_NODE_TYPE_HOST;
  if (!records || unheeded_ != nullptr) return CUDA_SUCCESS;
  return call_true(&TrueDriver::cuEventCreate, &unheeded_, CU_EVENT_DISABLE_TIMING);
}

CUresult EnabledNodes::set(const OrderedNode& node, bool on) {
  if (node.type == CU_GRAPH_NODE_TYPE_HOST) {
    const CUDA_HOST_NODE_PARAMS call = on ? node.call : CUDA_HOST_NODE_PARAMS{call_nothing, nullptr};
    return call_true(&TrueDriver::cuGraphExecHostNodeSetParams, exec_, node.node, &call);
  }
  if (node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
    return call_true(&TrueDriver::cuGraphExecEventRecordNodeSetEvent, exec_, node.node, on ? node.event : unheeded_);
  }
  return call_true(&TrueDriver::cuGraphNodeSetEnabled, exec_, node.node, on ? 1U : 0U);
}

CUresult EnabledNodes::only(const GraphPart& part) {
  if (status_ != CUDA_SUCCESS) return status_;
  for (Switch& each : switches_) {
    const bool should = each.part == &part;
    if (each.on == should) continue;
    if (const CUresult result = set(*each.node, should); result != CUDA_SUCCESS) return result;
    each.on = should;
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload
