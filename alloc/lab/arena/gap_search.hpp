// Finds, among the records that fit into a time gap, the one that begins first.
//
// The improved shared-object planner repeatedly asks which record leaves the least idle time next to a placed
// one. A tree over the records ordered by beginning answers in logarithmic time.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lab/arena/usage_record.hpp"

namespace tessera {

// An open interval: a record that fits begins after `after` and ends before `before`.
struct TimeGap {
  std::optional<std::uint64_t> after;   // none: unbounded
  std::optional<std::uint64_t> before;  // none: unbounded
};

class GapSearch {
 public:
  // Searches `members`, indices into `records`, which must outlive the search.
  GapSearch(std::span<const UsageRecord> records, std::vector<std::size_t> members);

  // The member that fits and begins first; on ties, the largest.
  std::optional<std::size_t> first_inside(const TimeGap& gap) const;
  // REQUIRES: `member` is a member and was not removed before.
  void take_out(std::size_t member);

 private:
  std::optional<std::size_t> search(std::size_t node, std::size_t width, std::size_t begin, std::size_t from,
                                    std::uint64_t end_limit) const;

  std::span<const UsageRecord> records_;
  std::vector<std::size_t> members_;  // by first, then decreasing bytes
  std::size_t leaves_;
  std::vector<std::uint64_t> soonest_end_;  // tree over members_: the minimum `last` of those left
};

}  // namespace tessera
