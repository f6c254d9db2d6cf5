// Tracks the occupied offsets of an arena per slot, and finds gaps for records.
//
// A tree over the slots. Each node keeps two unions of offset ranges: those occupied in some of its slots, and
// those occupied in all of them. A span decomposes into a few nodes, and the unions of a dense plan have few
// ranges, so a query is cheap however many records are live at once.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <vector>

#include "lab/arena/time_slots.hpp"

namespace tessera {

class OccupiedOffsets {
 public:
  explicit OccupiedOffsets(std::size_t slots);

  // The offset of the smallest gap of at least `bytes` that is free throughout `span`, the lowest on ties; if
  // there is none, the end of everything occupied there.
  Bytes smallest_gap(const SlotSpan& span, Bytes bytes);
  void take(const SlotSpan& span, Bytes offset, Bytes bytes);

 private:
  struct Range {
    Bytes begin;
    Bytes end;
  };
  using Ranges = std::vector<Range>;  // ascending and disjoint
  struct Node {
    Ranges somewhere;
    Ranges throughout;
  };

  static void merge_in(Ranges& ranges, Range added);
  void take(std::size_t node, const SlotSpan& covers, const SlotSpan& span, const Range& range);
  void gather(std::size_t node, const SlotSpan& covers, const SlotSpan& span);

  std::size_t slots_;
  std::vector<Node> nodes_;  // the children of n are 2n + 1 and 2n + 2
  Ranges taken_;             // scratch space of gather(), kept to avoid allocations
};

}  // namespace tessera
