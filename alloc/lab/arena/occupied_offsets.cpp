#include "lab/arena/occupied_offsets.hpp"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

bool apart(const SlotSpan& a, const SlotSpan& b) { return a.last < b.first || b.last < a.first; }

SlotSpan lower_half(const SlotSpan& covers) { return {covers.first, covers.first + (covers.last - covers.first) / 2}; }

SlotSpan upper_half(const SlotSpan& covers) { return {lower_half(covers).last + 1, covers.last}; }

}  // namespace

OccupiedOffsets::OccupiedOffsets(std::size_t slots)
    : slots_(std::max<std::size_t>(slots, 1)), nodes_(2 * std::bit_ceil(slots_) - 1) {}

void OccupiedOffsets::merge_in(Ranges& ranges, Range added) {
  const auto low = std::lower_bound(ranges.begin(), ranges.end(), added.begin,
                                    [](const Range& r, Bytes begin) { return r.end < begin; });
  auto high = low;
  for (; high != ranges.end() && high->begin <= added.end; ++high) {
    added.begin = std::min(added.begin, high->begin);
    added.end = std::max(added.end, high->end);
  }
  if (low == high) {
    ranges.insert(low, added);
  } else {
    *low = added;
    ranges.erase(low + 1, high);
  }
}

void OccupiedOffsets::take(const SlotSpan& span, Bytes offset, Bytes bytes) {
  if (bytes) take(0, {0, slots_ - 1}, span, {offset, offset + bytes});
}

void OccupiedOffsets::take(std::size_t node, const SlotSpan& covers, const SlotSpan& span, const Range& range) {
  if (apart(covers, span)) return;
  merge_in(nodes_[node].somewhere, range);
  if (covers.inside(span)) {
    merge_in(nodes_[node].throughout, range);
    return;
  }
  take(2 * node + 1, lower_half(covers), span, range);
  take(2 * node + 2, upper_half(covers), span, range);
}

void OccupiedOffsets::gather(std::size_t node, const SlotSpan& covers, const SlotSpan& span) {
  if (apart(covers, span)) return;
  const bool whole = covers.inside(span);
  const Ranges& found = whole ? nodes_[node].somewhere : nodes_[node].throughout;
  taken_.insert(taken_.end(), found.begin(), found.end());
  if (whole) return;
  gather(2 * node + 1, lower_half(covers), span);
  gather(2 * node + 2, upper_half(covers), span);
}

Bytes OccupiedOffsets::smallest_gap(const SlotSpan& span, Bytes bytes) {
  taken_.clear();
  gather(0, {0, slots_ - 1}, span);
  std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  bool found = false;
  Bytes best_gap, best_offset, end;
  for (const Range& range : taken_) {
    if (range.begin > end) {
      const Bytes gap = range.begin - end;
      if (gap >= bytes && (!found || gap < best_gap)) {
        found = true;
        best_gap = gap;
        best_offset = end;
      }
    }
    end = std::max(end, range.end);
  }
  return found ? best_offset : end;
}

}  // namespace tessera
