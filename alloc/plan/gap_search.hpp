// Finds, of records that fit into a gap of time, the one that begins soonest after the gap does.
//
// Why: the improved shared-object planner asks again and again which record leaves the least idle
// time beside one that has its place. A tree over the records in order of their beginning answers
// in logarithmic time.
//
// Thread safety: none; a planner owns one.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/usage_record.hpp"

namespace tessera {

// Open at both sides: a record that fits begins after `after` and ends before `before`.
struct TimeGap {
  std::optional<std::uint64_t> after;   // none: since ever
  std::optional<std::uint64_t> before;  // none: for ever
};

class GapSearch {
 public:
  // Over those `members` of `records`, which must outlive the search.
  GapSearch(std::span<const UsageRecord> records, std::vector<std::size_t> members);

  // The member that fits and begins first; of several, the largest.
  std::optional<std::size_t> first_inside(const TimeGap& gap) const;
  // REQUIRES: a member, taken out at most once.
  void take_out(std::size_t member);

 private:
  std::optional<std::size_t> search(std::size_t node, std::size_t width, std::size_t begin,
                                    std::size_t from, std::uint64_t end_limit) const;

  std::span<const UsageRecord> records_;
  std::vector<std::size_t> members_;  // by first, then falling bytes
  std::size_t leaves_;
  std::vector<std::uint64_t> soonest_end_;  // tree over members_: the smallest `last` that is left
};

}  // namespace tessera
