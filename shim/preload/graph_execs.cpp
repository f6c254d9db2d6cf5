#include "graph_execs.hpp"

#include <algorithm>
#include <mutex>

#include "held_blocks.hpp"

namespace tessera::preload {

std::vector<CUdeviceptr> GraphExecs::settle(Entry& entry) {
  Words all;
  for (const auto& [node, words] : entry.nodes.by_node) {
    all.insert(all.end(), words.begin(), words.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<CUdeviceptr> held = blocks_of(all);
  held_blocks().hold(held);
  std::swap(held, entry.held);
  entry.words = all.empty() ? nullptr : std::make_shared<const Words>(std::move(all));
  return held;  // of before
}

void GraphExecs::set(CUgraphExec exec, GraphWords words) {
  std::vector<CUdeviceptr> before;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    Entry& entry = execs_[exec];
    entry.nodes = std::move(words);
    before = settle(entry);
  }
  held_blocks().let_go(before);
}

void GraphExecs::change(CUgraphExec exec, CUgraphNode node, Words words,
                        const GraphWords* replaced) {
  std::vector<CUdeviceptr> before;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    Entry& entry = execs_[exec];
    if (replaced != nullptr) {
      for (const auto& each : replaced->by_node) entry.nodes.by_node.erase(each.first);
    }
    entry.nodes.by_node[node] = std::move(words);
    before = settle(entry);
  }
  held_blocks().let_go(before);
}

GraphWords GraphExecs::forget(CUgraphExec exec) {
  Entry gone;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto known = execs_.find(exec);
    if (known == execs_.end()) return {};
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
