// The duration of gaps and of the copies around them, without any waiting.
//
// Positions inside a gap count from the step after gap.after, around the end of the iteration if necessary.
// Queueing on links is not modelled; see planning/forecast.hpp.
//
// Thread safety: const after construction.
// Invariant: begins_ has one entry per step and one for the end of the iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/offload_interval.hpp"

namespace tessera {

class GapTime {
 public:
  // Both arguments are kept by reference.
  GapTime(const Iteration& iteration, const Machine& machine);

  // In nanoseconds. copy_out is 0 for runs that are never written: their copy in a lower tier stays valid. copy_in
  // includes the mapping of the run's pages.
  double copy_out(std::uint32_t run, Location to = Location::kHost) const;
  double copy_in(std::uint32_t run, Location to = Location::kHost) const;
  double begin_of(std::uint32_t step) const { return begins_[step]; }
  // From the end of gap.after to the beginning of gap.until.
  double between(const Gap& gap) const;
  // Capuchin's free time: the gap minus both copies; negative if they cannot be hidden.
  double free_time(const Gap& gap, Location to = Location::kHost) const;

  std::uint32_t steps_inside(const Gap& gap) const;
  std::uint32_t step_at(const Gap& gap, std::uint32_t position) const;
  // `step` if it is inside the gap, else the first step inside; gap.until if there is none.
  std::uint32_t inside(const Gap& gap, std::uint32_t step) const;
  // The last step inside that begins at least `lead` before gap.until does; otherwise the first inside.
  std::uint32_t back_by(const Gap& gap, double lead) const;
  // The number of steps after gap.after during which the copy out is still running.
  std::uint32_t steps_leaving(const Gap& gap, Location to = Location::kHost) const;

 private:
  // From the end of gap.after to the beginning of the step at a position.
  double since(const Gap& gap, std::uint32_t position) const;

  const Iteration& iteration_;
  const Machine& machine_;
  const std::uint32_t count_;
  std::vector<double> begins_;
  std::vector<bool> written_;
};

}  // namespace tessera
