#include "base/extent_map.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace tessera {

void ExtentMap::give(std::uint64_t start, std::uint64_t count) {
  if (count == 0) return;
  free_count_ += count;
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.begin()) {
    const auto previous = std::prev(next);
    const std::uint64_t previous_end = previous->first + previous->second;
    DCHECK_LE(previous_end, start);
    if (previous_end == start) {
      start = previous->first;
      count += previous->second;
      erase(previous);
    }
  }
  if (next != by_start_.end()) {
    DCHECK_LE(start + count, next->first);
    if (start + count == next->first) {
      count += next->second;
      erase(next);
    }
  }
  insert(start, count);
}

std::optional<std::uint64_t> ExtentMap::take(std::uint64_t count, std::uint64_t alignment) {
  if (count == 0 || alignment == 0) return std::nullopt;
  for (auto at = by_count_.lower_bound({count, 0}); at != by_count_.end(); ++at) {
    const auto [length, start] = *at;
    const std::uint64_t skip = (alignment - start % alignment) % alignment;
    if (skip > length || length - skip < count) continue;
    const std::uint64_t found = start + skip;
    if (!take_exactly(found, count)) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

bool ExtentMap::take_exactly(std::uint64_t start, std::uint64_t count) {
  if (count == 0) return false;
  auto at = by_start_.upper_bound(start);
  if (at == by_start_.begin()) return false;
  --at;
  const Extent whole{at->first, at->second};
  const std::uint64_t before = start - whole.start;
  if (before >= whole.count || whole.count - before < count) return false;
  erase(at);
  if (before > 0) insert(whole.start, before);
  const std::uint64_t after = whole.count - before - count;
  if (after > 0) insert(start + count, after);
  free_count_ -= count;
  return true;
}

std::optional<ExtentMap::Extent> ExtentMap::extent_at(std::uint64_t unit) const {
  auto at = by_start_.upper_bound(unit);
  if (at == by_start_.begin()) return std::nullopt;
  --at;
  if (unit - at->first >= at->second) return std::nullopt;
  return Extent{at->first, at->second};
}

std::optional<ExtentMap::Extent> ExtentMap::next_extent(std::uint64_t unit) const {
  if (const auto here = extent_at(unit)) return here;
  const auto at = by_start_.upper_bound(unit);
  if (at == by_start_.end()) return std::nullopt;
  return Extent{at->first, at->second};
}

std::uint64_t ExtentMap::largest() const { return by_count_.empty() ? 0 : by_count_.rbegin()->first; }

Status ExtentMap::validate() const {
  std::uint64_t total = 0;
  std::optional<std::uint64_t> end;
  for (const auto& [start, count] : by_start_) {
    if (count == 0) return Status(Code::kInternal, fmt::format("empty extent at {}", start));
    if (end && start <= *end) {
      return Status(Code::kInternal, fmt::format("extent at {} touches the previous one", start));
    }
    if (!by_count_.contains({count, start})) {
      return Status(Code::kInternal, fmt::format("extent at {} is in one index only", start));
    }
    end = start + count;
    total += count;
  }
  if (by_count_.size() != by_start_.size() || total != free_count_) {
    return Status(Code::kInternal, fmt::format("{} and {} extents, {} units free, {} counted", by_start_.size(),
                                               by_count_.size(), total, free_count_));
  }
  return Status::ok();
}

void ExtentMap::insert(std::uint64_t start, std::uint64_t count) {
  by_start_.emplace(start, count);
  by_count_.emplace(count, start);
}

void ExtentMap::erase(std::map<std::uint64_t, std::uint64_t>::iterator extent) {
  by_count_.erase({extent->second, extent->first});
  by_start_.erase(extent);
}

}  // namespace tessera
