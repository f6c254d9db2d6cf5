// How long gaps and the copies around them take, if nothing waits.
//
// Positions inside a gap are counted from the step behind gap.after, around the end of the iteration if
// need be. The links' queues are not in this picture; learn/forecast.hpp has them.
//
// Thread safety: const after construction.
// Invariant: begins_ has one entry per step and one for the end of the iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/absence.hpp"

namespace tessera {

class GapTime {
 public:
  // Both are referred to, not copied.
  GapTime(const Iteration& iteration, const Machine& machine);

  // Nanoseconds. Out is 0 for runs that are never written: their copy in a lower tier stays valid.
  double copy_out(std::uint32_t run, Away to = Away::kHost) const;
  double copy_in(std::uint32_t run, Away to = Away::kHost) const;
  double begin_of(std::uint32_t step) const { return begins_[step]; }
  // From the end of the step before to the begin of the step after.
  double between(const Gap& gap) const;
  // Capuchin's free time: what is left of the gap beside both copies; negative: they cannot be hidden.
  double free_time(const Gap& gap, Away to = Away::kHost) const;

  std::uint32_t steps_inside(const Gap& gap) const;
  std::uint32_t step_at(const Gap& gap, std::uint32_t position) const;
  // `step` if it is inside the gap, else the first step inside; gap.until if there is none.
  std::uint32_t inside(const Gap& gap, std::uint32_t step) const;
  // The last step inside which begins at least `lead` before gap.until does; else the first inside.
  std::uint32_t back_by(const Gap& gap, double lead) const;
  // How many steps behind gap.after the copy out still runs.
  std::uint32_t steps_leaving(const Gap& gap, Away to = Away::kHost) const;

 private:
  // From the end of gap.after to the begin of the step at a position.
  double since(const Gap& gap, std::uint32_t position) const;

  const Iteration& iteration_;
  const Machine& machine_;
  const std::uint32_t count_;
  std::vector<double> begins_;
  std::vector<bool> written_;
};

}  // namespace tessera
