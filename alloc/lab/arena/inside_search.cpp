#include "lab/arena/inside_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

}  // namespace

InsideSearch::InsideSearch(std::vector<SlotSpan> spans, std::vector<std::size_t> ranks)
    : spans_(std::move(spans)),
      ranks_(std::move(ranks)),
      by_rank_(spans_.size()),
      order_(spans_.size()),
      position_(spans_.size()),
      nodes_(spans_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (std::size_t i = 0; i < ranks_.size(); ++i) by_rank_[ranks_[i]] = i;
  build({0, spans_.size()}, true);
  for (std::size_t p = 0; p < order_.size(); ++p) position_[order_[p]] = p;
}

void InsideSearch::build(const Part& part, bool by_first) {
  if (part.empty()) return;
  const auto at = [&](std::size_t p) { return order_.begin() + static_cast<std::ptrdiff_t>(p); };
  std::nth_element(at(part.begin), at(part.middle()), at(part.end), [&](std::size_t a, std::size_t b) {
    return by_first ? spans_[a].first < spans_[b].first : spans_[a].last < spans_[b].last;
  });
  build(part.below(), !by_first);
  build(part.above(), !by_first);
  const SlotSpan& own = spans_[order_[part.middle()]];
  Node& node = nodes_[part.middle()];
  node = {own.first, own.last, kNone};
  for (const Part& child : {part.below(), part.above()}) {
    if (child.empty()) continue;
    node.latest_first = std::max(node.latest_first, nodes_[child.middle()].latest_first);
    node.earliest_last = std::min(node.earliest_last, nodes_[child.middle()].earliest_last);
  }
  refresh_rank(part);
}

void InsideSearch::refresh_rank(const Part& part) {
  std::size_t best = rank_at(part.middle());
  for (const Part& child : {part.below(), part.above()}) {
    if (!child.empty()) best = std::min(best, nodes_[child.middle()].best_rank);
  }
  nodes_[part.middle()].best_rank = best;
}

void InsideSearch::search(const Part& part, const SlotSpan& span, std::size_t& best) const {
  if (part.empty()) return;
  const Node& node = nodes_[part.middle()];
  if (node.best_rank >= best) return;
  // Every span here begins too early, or every one ends too late.
  if (node.latest_first < span.first || node.earliest_last > span.last) return;
  const SlotSpan& own = spans_[order_[part.middle()]];
  if (own.inside(span)) best = std::min(best, rank_at(part.middle()));
  search(part.below(), span, best);
  search(part.above(), span, best);
}

std::optional<std::size_t> InsideSearch::best_inside(const SlotSpan& span) const {
  std::size_t best = kNone;
  search({0, order_.size()}, span, best);
  if (best == kNone) return std::nullopt;
  return by_rank_[best];
}

void InsideSearch::take_out(const Part& part, std::size_t position) {
  if (position < part.middle()) take_out(part.below(), position);
  if (position > part.middle()) take_out(part.above(), position);
  refresh_rank(part);
}

void InsideSearch::take_out(std::size_t index) {
  ranks_[index] = kNone;
  take_out({0, order_.size()}, position_[index]);
}

}  // namespace tessera
