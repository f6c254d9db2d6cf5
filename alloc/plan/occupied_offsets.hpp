// Which offsets of an arena are taken during which slots, and where a record still fits.
//
// A tree over the slots. Each node keeps two unions of offset ranges: what is taken somewhere in
// its slots, and what is taken throughout them. A span is a few nodes, and unions of a dense plan
// are a few ranges, so a question costs little however many records are live at once.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <vector>

#include "plan/time_slots.hpp"

namespace tessera {

class OccupiedOffsets {
 public:
  explicit OccupiedOffsets(std::size_t slots);

  // The offset of the smallest gap of at least `bytes` that is free in all of `span`, the lowest of
  // equals; without one, the end of all that is taken there.
  Bytes smallest_gap(const SlotSpan& span, Bytes bytes);
  void take(const SlotSpan& span, Bytes offset, Bytes bytes);

 private:
  struct Range {
    Bytes begin;
    Bytes end;
  };
  using Ranges = std::vector<Range>;  // rising, apart from each other
  struct Node {
    Ranges somewhere;
    Ranges throughout;
  };

  static void merge_in(Ranges& ranges, Range added);
  void take(std::size_t node, const SlotSpan& covers, const SlotSpan& span, const Range& range);
  void gather(std::size_t node, const SlotSpan& covers, const SlotSpan& span);

  std::size_t slots_;
  std::vector<Node> nodes_;  // the children of n are 2n + 1 and 2n + 2
  Ranges taken_;             // what gather found; kept for its memory
};

}  // namespace tessera
