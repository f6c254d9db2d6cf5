#include "lab/arena/placement_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "lab/arena/liveness.hpp"

namespace tessera {
namespace {

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Range minimum queries in constant time: row k holds the minima of 2^k neighbours.
class StretchMinimum {
 public:
  explicit StretchMinimum(std::vector<std::size_t> values) : rows_{std::move(values)} {
    for (std::size_t width = 1; 2 * width <= rows_[0].size(); width *= 2) {
      const std::vector<std::size_t>& below = rows_.back();
      std::vector<std::size_t> row(rows_[0].size() - 2 * width + 1);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::min(below[i], below[i + width]);
      rows_.push_back(std::move(row));
    }
  }

  std::size_t of(const SlotSpan& span) const {
    const std::size_t length = span.last - span.first + 1;
    const std::vector<std::size_t>& row = rows_[static_cast<std::size_t>(std::bit_width(length)) - 1];
    return std::min(row[span.first], row[span.last + 1 - std::bit_floor(length)]);
  }

 private:
  std::vector<std::vector<std::size_t>> rows_;
};

}  // namespace

std::vector<std::size_t> order_by_size(std::span<const UsageRecord> records) {
  std::vector<std::size_t> order = numbers(records.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return records[a].bytes > records[b].bytes; });
  return order;
}

std::vector<std::size_t> order_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const std::vector<Bytes> breadth = live_bytes(records, slots);
  std::vector<std::size_t> by_breadth = numbers(slots.count());
  std::stable_sort(by_breadth.begin(), by_breadth.end(),
                   [&](std::size_t a, std::size_t b) { return breadth[a] > breadth[b]; });
  std::vector<std::size_t> rank(slots.count());
  for (std::size_t i = 0; i < by_breadth.size(); ++i) rank[by_breadth[i]] = i;

  // A record is taken with the broadest slot that it spans.
  const StretchMinimum best(std::move(rank));
  std::vector<std::size_t> turn(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) turn[i] = best.of(slots.span(i));
  std::vector<std::size_t> order = numbers(records.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(turn[a], records[b].bytes) < std::tie(turn[b], records[a].bytes);
  });
  return order;
}

}  // namespace tessera
