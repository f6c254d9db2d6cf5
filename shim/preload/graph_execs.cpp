#include "graph_execs.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "graph_copies.hpp"
#include "held_blocks.hpp"

namespace tessera::preload {

std::vector<CUdeviceptr> GraphExecs::settle(Entry& entry) {
  Words all;
  for (const auto& [node, words] : entry.nodes.by_node) {
    const std::size_t given = all.given.size();
    all.append(words);
    const auto place = entry.nodes.places.find(node);
    const bool may_not_run = place != entry.nodes.places.end() && place->second.in_body;
    if (may_not_run) all.given.resize(given);
  }
  all.keep_each_once();
  // An uncertain word must not prevent a block from being freed.
  std::vector<CUdeviceptr> held = blocks_of(all.certain);
  held_blocks().hold(held);
  std::swap(held, entry.held);
  all.copies = copies_in_order(entry.nodes);
  entry.copies_tables = std::ranges::any_of(
      all.copies, [&](const NodeCopy& copy) { return std::ranges::binary_search(all.given, copy.to); });
  entry.words = all.empty() && all.copies.empty() ? nullptr : std::make_shared<const Words>(std::move(all));
  entry.judged = false;
  entry.cut = {};
  return held;  // the blocks held before
}

void GraphExecs::set(CUgraphExec exec, GraphWords words, CUgraph source, OrderedNodes order) {
  std::vector<CUdeviceptr> before;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    Entry& entry = execs_[exec];
    entry.nodes = std::move(words);
    let_go_of_source(entry);
    entry.source = source;
    entry.order = std::move(order);
    before = settle(entry);
  }
  held_blocks().let_go(before);
}

void GraphExecs::change(CUgraphExec exec, std::span<const CUgraphNode> nodes, const Words& words) {
  std::vector<CUdeviceptr> before;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    Entry& entry = execs_[exec];
    for (const CUgraphNode node : nodes) entry.nodes.by_node[node] = words;
    before = settle(entry);
  }
  held_blocks().let_go(before);
}

template <class Write>
void GraphExecs::rewrite(CUgraphExec exec, CUgraphNode node, Write write) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto known = execs_.find(exec);
  if (known == execs_.end()) return;
  Entry& entry = known->second;
  const auto ordered = std::find_if(entry.order.begin(), entry.order.end(),
                                    [node](const OrderedNode& each) { return each.node == node; });
  if (ordered == entry.order.end()) return;
  write(*ordered);
  entry.judged = false;
  entry.cut = {};
}

void GraphExecs::change_call(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS& call) {
  rewrite(exec, node, [&](OrderedNode& ordered) { ordered.call = call; });
}

void GraphExecs::change_event(CUgraphExec exec, CUgraphNode node, CUevent event) {
  rewrite(exec, node, [&](OrderedNode& ordered) { ordered.event = event; });
}

void GraphExecs::forget_order(CUgraphExec exec) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto known = execs_.find(exec);
  if (known == execs_.end()) return;
  let_go_of_source(known->second);
  known->second.order.clear();
  known->second.cut = {};
}

GraphWords GraphExecs::forget(CUgraphExec exec) {
  Entry gone;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto known = execs_.find(exec);
    if (known == execs_.end()) return {};
    let_go_of_source(known->second);
    gone = std::move(known->second);
    execs_.erase(known);
  }
  held_blocks().let_go(gone.held);
  return std::move(gone.nodes);
}

void GraphExecs::forget_all() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  execs_.clear();
}

void GraphExecs::let_go_of_source(Entry& entry) {
  if (!std::exchange(entry.keeps_source, false)) return;
  const auto keeps_it = [&](const auto& other) {
    return other.second.keeps_source && other.second.source == entry.source;
  };
  if (std::none_of(execs_.begin(), execs_.end(), keeps_it)) due_.push_back(entry.source);
}

bool GraphExecs::keep(CUgraph source) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  bool kept = false;
  for (auto& [exec, entry] : execs_) {
    if (entry.source != source || entry.order.empty()) continue;
    entry.keeps_source = judge(entry) != nullptr || entry.copies_tables;
    if (!entry.keeps_source) entry.order.clear();
    kept = kept || entry.keeps_source;
  }
  return kept;
}

std::vector<CUgraph> GraphExecs::take_due() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  return std::exchange(due_, {});
}

void GraphExecs::forget_node(CUgraphNode node) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  for (auto& [exec, entry] : execs_) {
    if (std::none_of(entry.order.begin(), entry.order.end(),
                     [node](const OrderedNode& each) { return each.node == node; })) {
      continue;
    }
    entry.order.clear();
    entry.cut = {};
  }
}

const std::vector<GraphPart>* GraphExecs::judge(Entry& entry) {
  if (std::exchange(entry.judged, true)) return entry.cut.parts.get();
  entry.cut = launchable(cut(entry.order, entry.nodes));
  return entry.cut.parts.get();
}

GraphExecs::Launchable GraphExecs::launchable(GraphCut made) {
  Launchable result;
  if (made.parts.size() > 1) {
    result.parts = std::make_shared<const std::vector<GraphPart>>(std::move(made.parts));
  } else if (!made.too_large.empty()) {
    result.too_large = std::make_shared<const Words>(std::move(made.too_large));
  }
  return result;
}

GraphExecs::Launchable GraphExecs::parts_for(CUgraphExec exec, const GraphCopies& copies) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto known = execs_.find(exec);
  if (known == execs_.end()) return {};
  GraphWords nodes;
  for (const auto& [node, words] : known->second.nodes.by_node) nodes.by_node[node] = copies.complete(words);
  return launchable(cut(known->second.order, nodes));
}

GraphExecs::Launchable GraphExecs::parts(CUgraphExec exec) {
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto known = execs_.find(exec);
    if (known == execs_.end()) return {};
    if (known->second.judged) return known->second.cut;
  }
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto known = execs_.find(exec);
  if (known == execs_.end()) return {};
  (void)judge(known->second);
  return known->second.cut;
}

void GraphExecs::judge_anew() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  for (auto& [exec, entry] : execs_) entry.judged = false;
}

std::shared_ptr<const Words> GraphExecs::words(CUgraphExec exec) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto known = execs_.find(exec);
  return known != execs_.end() ? known->second.words : nullptr;
}

GraphExecs& graph_execs() {
  // Never destroyed: programs launch from their own exit handlers.
  static GraphExecs& execs = *new GraphExecs;
  return execs;
}

}  // namespace tessera::preload
