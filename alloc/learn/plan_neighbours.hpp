// Plans that differ a little from a plan: what a search tries next.
//
// One kind of change is drawn and made to one to three absences: another part of the run goes, it is called back
// sooner or later, it stays; a gap is used that was not; or, where the host has no room for all, it is in the file
// instead, or no longer. Absences and gaps are drawn by their bytes. Half of the plans are then timed anew
// (prompt_plan.hpp), so that what comes and goes around the change follows it.
//
// Thread safety: none. The same plans are drawn on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "learn/absence.hpp"

namespace tessera {

class PlanNeighbours {
 public:
  // Both are referred to, not copied.
  PlanNeighbours(const Iteration& iteration, const Machine& machine);

  // Where nothing could be changed, `plan` itself. No two absences are in one gap, and none is of a pinned run, if
  // that holds for `plan`.
  AbsencePlan draw(AbsencePlan plan);
  // 0 to n - 1. REQUIRES: n > 0.
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  Bytes part_of(const Absence& absence) const;
  Absence& drawn(AbsencePlan& plan);
  std::uint32_t span_of(const Gap& gap) const;
  void resize(Absence& absence);
  void shift(Absence& absence);
  void place(Absence& absence);
  void add_to(AbsencePlan& plan);

  const Iteration& iteration_;
  const Machine& machine_;
  std::uint64_t changes_ = 0;       // kinds to draw from: the last is for hosts that have no room for all
  std::mt19937_64 random_;          // its numbers are laid down by the standard
  std::vector<Gap> gaps_;           // that a plan may use,
  std::vector<std::uint64_t> ends_;  // and the bytes of each and all before it
};

}  // namespace tessera
