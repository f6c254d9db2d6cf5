#include "graph_copies.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lifecycle.hpp"
#include "pointer_tables.hpp"

namespace tessera::preload {
namespace {

// Ranges of memory that were written.
class Written {
 public:
  // Adds a range. True if any part of it was written before.
  bool add(CUdeviceptr begin, CUdeviceptr end) {
    bool before = false;
    auto next = stretches_.upper_bound(begin);
    if (next != stretches_.begin() && std::prev(next)->second > begin) --next;
    for (; next != stretches_.end() && next->first < end; next = stretches_.erase(next)) {
      before = true;
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
    }
    stretches_[begin] = end;
    return before;
  }

 private:
  std::map<CUdeviceptr, CUdeviceptr> stretches_;
};

// The words copied there, if all of them are addresses; else none. If blocks are at low addresses, only start addresses
// of blocks count, because a pair of numbers may look like any other.
std::vector<std::uint64_t> table_at(const NodeCopy& copy) {
  std::vector<std::uint64_t> words;
  if (copy.bytes % sizeof(CUdeviceptr) != 0 || copy.to % sizeof(CUdeviceptr) != 0 || !any_pointer_tables())
    return words;
  tessera_block_info block;
  bool surely = true;
  pointer_tables().visit(copy.to, copy.bytes, [&](std::size_t, CUdeviceptr word) {
    words.push_back(word);
    surely = surely && find_block(word, block) && (!blocks_lie_low() || block.address == word);
  });
  const bool all = words.size() == copy.bytes / sizeof(CUdeviceptr);
  if (!surely || !all) words.clear();
  return words;
}

bool is_same(const NodeCopy& a, const NodeCopy& b) { return a.to == b.to && a.from == b.from && a.bytes == b.bytes; }

}  // namespace

std::vector<NodeCopy> copies_in_order(const GraphWords& nodes) {
  std::vector<std::pair<GraphWords::Place, const Words*>> order;
  for (const auto& [node, words] : nodes.by_node) {
    if (words.copies.empty()) continue;
    const auto place = nodes.places.find(node);
    order.emplace_back(place != nodes.places.end() ? place->second : GraphWords::Place{}, &words);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first.turn < b.first.turn; });
  std::vector<NodeCopy> copies;
  Written written;
  for (const auto& [place, words] : order) {
    for (NodeCopy copy : words->copies) {
      // After a child graph was replaced, each of its nodes has all of its copies.
      if (!copies.empty() && is_same(copies.back(), copy)) continue;
      copy.may_not_run = place.in_body;
      copy.rewrites = written.add(copy.to, copy.to + copy.bytes);
      copies.push_back(copy);
    }
  }
  return copies;
}

// The contents of tables have to be known before the launch is announced.
GraphCopies::GraphCopies(const std::vector<NodeCopy>& copies, CUstream stream) {
  for (const NodeCopy& copy : copies) {
    const Overwrites overwrites = copy.may_not_run ? Overwrites::kMaybe : Overwrites::kYes;
    if (!managed(copy.to)) {
      status_ = outside_.emplace_back(copy.to, copy.from, copy.bytes, Source::kAny, stream, overwrites).status();
      if (status_ != CUDA_SUCCESS) return;
      continue;
    }
    if (copy.rewrites && any_pointer_tables()) {
      pointer_tables().visit(copy.to, copy.bytes,
                             [this](std::size_t, CUdeviceptr pointee) { between_.maybe.push_back(pointee); });
    }
    CopiedWords(copy.to, copy.from, copy.bytes, Source::kAny, stream, overwrites).made();
    if (copy.may_not_run) continue;
    if (std::vector<std::uint64_t> words = table_at(copy); !words.empty())
      tables_.push_back({copy.to, std::move(words)});
  }
}

Words GraphCopies::complete(const Words& words) const {
  Words all(words);
  all.append(between_);
  for (const Table& table : tables_) {
    if (std::ranges::find(words.given, table.at) == words.given.end()) continue;
    all.certain.insert(all.certain.end(), table.words.begin(), table.words.end());
  }
  return all;
}

void GraphCopies::launched() {
  for (CopiedWords& copy : outside_) copy.made();
}

}  // namespace tessera::preload
