#include "planning/late_intervals.hpp"

#include <algorithm>

#include "planning/gap_time.hpp"

namespace tessera {

OffloadPlan late_intervals(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan,
                           std::uint32_t step) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  const auto ago = [&](const OffloadInterval& interval) { return (step + count - interval.gap.after) % count; };
  OffloadPlan late;
  for (const OffloadInterval& interval : plan) {
    const auto behind = [&](std::uint32_t until) { return (until + count - interval.gap.after) % count; };
    const std::uint32_t back = behind(interval.back_at), until = behind(interval.gap.until);
    const std::uint32_t all = back != 0 ? back : until != 0 ? until : count;
    if (!interval.gap.dead && ago(interval) < all) late.push_back(interval);
  }
  std::ranges::stable_sort(late, std::greater(), ago);
  const GapTime time(iteration, machine);
  double queued = 0;
  std::erase_if(late, [&](const OffloadInterval& interval) {
    const Gap left{
        .run = interval.gap.run, .after = step, .until = interval.back_at, .wraps = interval.back_at <= step};
    const double done = queued + time.copy_out(interval.gap.run, interval.to);
    if (done > time.between(left)) return true;
    queued = done;
    return false;
  });
  return late;
}

}  // namespace tessera
