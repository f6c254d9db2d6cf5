#include "lab/arena/gap_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

namespace tessera {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

GapSearch::GapSearch(std::span<const UsageRecord> records, std::vector<std::size_t> members)
    : records_(records),
      members_(std::move(members)),
      leaves_(std::bit_ceil(std::max<std::size_t>(members_.size(), 1))),
      soonest_end_(2 * leaves_, kNever) {
  std::sort(members_.begin(), members_.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(records_[a].first, records_[b].bytes, a) < std::tie(records_[b].first, records_[a].bytes, b);
  });
  for (std::size_t i = 0; i < members_.size(); ++i) {
    soonest_end_[leaves_ + i] = records_[members_[i]].last;
  }
  for (std::size_t node = leaves_; --node > 0;) {
    soonest_end_[node] = std::min(soonest_end_[2 * node], soonest_end_[2 * node + 1]);
  }
}

// The leftmost leaf at `from` or later with a record that ends before `end_limit`.
std::optional<std::size_t> GapSearch::search(std::size_t node, std::size_t width, std::size_t begin, std::size_t from,
                                             std::uint64_t end_limit) const {
  if (begin + width <= from || soonest_end_[node] >= end_limit) return std::nullopt;
  if (width == 1) return begin;
  const std::size_t half = width / 2;
  const auto left = search(2 * node, half, begin, from, end_limit);
  return left ? left : search(2 * node + 1, half, begin + half, from, end_limit);
}

std::optional<std::size_t> GapSearch::first_inside(const TimeGap& gap) const {
  std::size_t from = 0;
  if (gap.after) {
    const auto begin =
        std::upper_bound(members_.begin(), members_.end(), *gap.after,
                         [&](std::uint64_t time, std::size_t member) { return time < records_[member].first; });
    from = static_cast<std::size_t>(begin - members_.begin());
  }
  const auto leaf = search(1, leaves_, 0, from, gap.before.value_or(kNever));
  if (!leaf) return std::nullopt;
  return members_[*leaf];
}

void GapSearch::take_out(std::size_t member) {
  const auto place = std::lower_bound(members_.begin(), members_.end(), member, [&](std::size_t a, std::size_t b) {
    return std::tie(records_[a].first, records_[b].bytes, a) < std::tie(records_[b].first, records_[a].bytes, b);
  });
  std::size_t node = leaves_ + static_cast<std::size_t>(place - members_.begin());
  soonest_end_[node] = kNever;
  for (node /= 2; node > 0; node /= 2) {
    soonest_end_[node] = std::min(soonest_end_[2 * node], soonest_end_[2 * node + 1]);
  }
}

}  // namespace tessera
