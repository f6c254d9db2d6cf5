#include "lab/arena/best_fit.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "lab/arena/inside_search.hpp"

namespace tessera {
namespace {

struct Line {
  SlotSpan span;
  Bytes offset;
};

// Neighbouring lines with equal offsets are always merged.
class Skyline {
 public:
  explicit Skyline(std::size_t slots) { put({{0, slots - 1}, {}}); }

  Line lowest() const { return lines_.at(by_offset_.begin()->second); }
  // REQUIRES: `span` lies within the lowest line.
  void raise(const Line& lowest, const SlotSpan& span, Bytes bytes);
  // REQUIRES: there is another line.
  void lift(const Line& lowest);

 private:
  // Inserts a line and merges it with neighbours of the same offset.
  void put(Line line);
  void remove(const Line& line);

  std::map<std::size_t, Line> lines_;                  // by first slot
  std::set<std::pair<Bytes, std::size_t>> by_offset_;  // offset, first slot
};

void Skyline::remove(const Line& line) {
  by_offset_.erase({line.offset, line.span.first});
  lines_.erase(line.span.first);
}

void Skyline::put(Line line) {
  const auto next = lines_.find(line.span.last + 1);
  if (next != lines_.end() && next->second.offset == line.offset) {
    const Line joined = next->second;
    remove(joined);
    line.span.last = joined.span.last;
  }
  const auto beyond = lines_.lower_bound(line.span.first);
  if (beyond != lines_.begin()) {
    const Line before = std::prev(beyond)->second;
    if (before.span.last + 1 == line.span.first && before.offset == line.offset) {
      remove(before);
      line.span.first = before.span.first;
    }
  }
  lines_.emplace(line.span.first, line);
  by_offset_.emplace(line.offset, line.span.first);
}

void Skyline::raise(const Line& lowest, const SlotSpan& span, Bytes bytes) {
  remove(lowest);
  if (lowest.span.first < span.first) {
    put({{lowest.span.first, span.first - 1}, lowest.offset});
  }
  if (span.last < lowest.span.last) put({{span.last + 1, lowest.span.last}, lowest.offset});
  put({span, lowest.offset + bytes});
}

void Skyline::lift(const Line& lowest) {
  const auto own = lines_.find(lowest.span.first);
  const auto next = std::next(own);
  Bytes offset = next != lines_.end() ? next->second.offset : std::prev(own)->second.offset;
  if (own != lines_.begin()) offset = std::min(offset, std::prev(own)->second.offset);
  remove(lowest);
  put({lowest.span, offset});
}

// Ranks by longest life, then largest size, then record order.
std::vector<std::size_t> ranks_by_life(std::span<const UsageRecord> records) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::uint64_t life_a = records[a].last - records[a].first;
    const std::uint64_t life_b = records[b].last - records[b].first;
    return std::tie(life_b, records[b].bytes) < std::tie(life_a, records[a].bytes);
  });
  std::vector<std::size_t> ranks(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

}  // namespace

OffsetPlan best_fit(std::span<const UsageRecord> records, const TimeSlots& slots) {
  OffsetPlan plan{std::vector<Bytes>(records.size()), {}};
  if (records.empty()) return plan;
  std::vector<SlotSpan> spans;
  spans.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) spans.push_back(slots.span(i));
  InsideSearch waiting(std::move(spans), ranks_by_life(records));
  Skyline skyline(slots.count());
  for (std::size_t placed = 0; placed < records.size();) {
    const Line lowest = skyline.lowest();
    const std::optional<std::size_t> found = waiting.best_inside(lowest.span);
    if (!found) {
      skyline.lift(lowest);
      continue;
    }
    waiting.take_out(*found);
    plan.offsets[*found] = lowest.offset;
    plan.total = std::max(plan.total, lowest.offset + records[*found].bytes);
    skyline.raise(lowest, slots.span(*found), records[*found].bytes);
    ++placed;
  }
  return plan;
}

}  // namespace tessera
