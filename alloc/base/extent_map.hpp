// Free space as maximal extents: best fit, coalescing on return. Units are the caller's.
//
// Used for page windows, base pages and slots of the spill file. It is in base/ because page/ and tier/ both
// need it and neither may include the other.
//
// Thread safety: none; the owner locks.
//
// Invariants (validate()): extents are non-empty, disjoint, never adjacent, and
// the two indexes describe the same set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/status.hpp"

namespace tessera {

class ExtentMap {
 public:
  struct Extent {
    std::uint64_t start = 0;
    std::uint64_t count = 0;
    constexpr bool operator==(const Extent&) const = default;
  };

  // Adds free space and merges it with free neighbours. REQUIRES: no unit of the range is free already.
  void give(std::uint64_t start, std::uint64_t count);
  // Takes from the smallest extent that holds `count` units at a multiple of `alignment`; the lowest of
  // several.
  std::optional<std::uint64_t> take(std::uint64_t count, std::uint64_t alignment = 1);
  // Takes exactly this range. Returns false and changes nothing unless all of it is free.
  bool take_exactly(std::uint64_t start, std::uint64_t count);
  // The free extent that contains `unit`, if it is free.
  std::optional<Extent> extent_at(std::uint64_t unit) const;

  // The first free extent in address order that ends after `unit`; for walking all extents.
  std::optional<Extent> next_extent(std::uint64_t unit) const;

  std::uint64_t free_count() const { return free_count_; }
  std::uint64_t largest() const;
  std::size_t extents() const { return by_start_.size(); }
  Status validate() const;

 private:
  void insert(std::uint64_t start, std::uint64_t count);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator extent);

  std::map<std::uint64_t, std::uint64_t> by_start_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_count_;  // (count, start)
  std::uint64_t free_count_ = 0;
};

}  // namespace tessera
