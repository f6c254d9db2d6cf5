// Finds, among the spans inside a given span, the one of lowest rank. Spans can be removed.
//
// A k-d tree over (first, last), so that a query of best fit examines far fewer than all records.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <optional>
#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

class InsideSearch {
 public:
  // REQUIRES: ranks are distinct.
  InsideSearch(std::vector<SlotSpan> spans, std::vector<std::size_t> ranks);

  // The index of the best span inside `span`, or nullopt.
  std::optional<std::size_t> best_inside(const SlotSpan& span) const;
  // REQUIRES: the span was not removed before.
  void take_out(std::size_t index);

 private:
  // Positions [begin, end) of `order_`; the node's own span is at the middle.
  struct Part {
    std::size_t begin;
    std::size_t end;

    std::size_t middle() const { return begin + (end - begin) / 2; }
    Part below() const { return {begin, middle()}; }
    Part above() const { return {middle() + 1, end}; }
    bool empty() const { return begin == end; }
  };
  // Bounds over all spans of a part, removed or not; the rank only over the remaining ones.
  struct Node {
    std::size_t latest_first;
    std::size_t earliest_last;
    std::size_t best_rank;
  };

  void build(const Part& part, bool by_first);
  std::size_t rank_at(std::size_t position) const { return ranks_[order_[position]]; }
  void refresh_rank(const Part& part);
  void take_out(const Part& part, std::size_t position);
  void search(const Part& part, const SlotSpan& span, std::size_t& best) const;

  std::vector<SlotSpan> spans_;
  std::vector<std::size_t> ranks_;  // per span; removed ones have the maximum value
  std::vector<std::size_t> by_rank_;
  std::vector<std::size_t> order_;     // position -> span
  std::vector<std::size_t> position_;  // span -> position
  std::vector<Node> nodes_;            // indexed by the middle of the part
};

}  // namespace tessera
