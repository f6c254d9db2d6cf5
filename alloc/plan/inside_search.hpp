// Finds, of the spans that lie inside a given one, the one of lowest rank; spans can be taken out.
//
// A k-d tree over (first, last), so that best fit asks in far less than one look at each record.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <optional>
#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

class InsideSearch {
 public:
  // Ranks are distinct.
  InsideSearch(std::vector<SlotSpan> spans, std::vector<std::size_t> ranks);

  // The index of the best span inside `span`, or nothing.
  std::optional<std::size_t> best_inside(const SlotSpan& span) const;
  // REQUIRES: taken out at most once.
  void take_out(std::size_t index);

 private:
  // Positions [begin, end) of `order_`; the node's own span stands in the middle.
  struct Part {
    std::size_t begin;
    std::size_t end;

    std::size_t middle() const { return begin + (end - begin) / 2; }
    Part below() const { return {begin, middle()}; }
    Part above() const { return {middle() + 1, end}; }
    bool empty() const { return begin == end; }
  };
  // Of all spans of a part, whether taken out or not; the rank only of those that are left.
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
  std::vector<std::size_t> ranks_;  // by span; those taken out have the highest there is
  std::vector<std::size_t> by_rank_;
  std::vector<std::size_t> order_;     // position -> span
  std::vector<std::size_t> position_;  // span -> position
  std::vector<Node> nodes_;            // by the middle of the part
};

}  // namespace tessera
