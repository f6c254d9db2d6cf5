#include "planning/occupancy.hpp"

namespace tessera {

template <class Visit>
void Occupancy::for_each_step(const OffloadInterval& interval, Visit visit) const {
  const Gap& gap = interval.gap;
  const std::uint32_t inside = time_.steps_inside(gap);
  const std::uint32_t begin = gap.dead ? iteration_.runs[gap.run].lingers : time_.steps_leaving(gap, interval.to);
  for (std::uint32_t position = begin; position < inside; ++position) {
    const std::uint32_t step = time_.step_at(gap, position);
    if (step == interval.back_at && !gap.dead) return;
    if (!visit(step)) return;
  }
}

Occupancy::Occupancy(const Iteration& iteration, Bytes device, const GapTime& time)
    : iteration_(iteration), time_(time) {
  std::vector<bool> used(iteration.runs.size());
  double all = 0;
  for (const RunUse& use : iteration.uses) {
    if (!used[use.run]) all += static_cast<double>(iteration.runs[use.run].bytes.value());
    used[use.run] = true;
  }
  excess_.assign(iteration.steps.size(), all - static_cast<double>(device.value()));
  over_ = !excess_.empty() && excess_[0] > 0 ? excess_.size() : 0;
  for (const Gap& gap : find_gaps(iteration)) {
    if (gap.dead && !iteration.runs[gap.run].pinned) take({.gap = gap, .back_at = gap.until});
  }
}

bool Occupancy::helps(const OffloadInterval& interval) const {
  bool over = false;
  for_each_step(interval, [&](std::uint32_t step) { return !(over = excess_[step] > 0); });
  return over;
}

void Occupancy::take(const OffloadInterval& interval) {
  const auto bytes = static_cast<double>(iteration_.runs[interval.gap.run].bytes.value());
  for_each_step(interval, [&](std::uint32_t step) {
    const bool was_over = excess_[step] > 0;
    excess_[step] -= bytes;
    if (was_over && excess_[step] <= 0) --over_;
    return true;
  });
}

}  // namespace tessera
