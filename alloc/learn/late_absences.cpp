#include "learn/late_absences.hpp"

#include <algorithm>

#include "learn/gap_time.hpp"

namespace tessera {

AbsencePlan late_absences(const Iteration& iteration, const Machine& machine, const AbsencePlan& plan,
                          std::uint32_t step) {
  const auto count = static_cast<std::uint32_t>(iteration.steps.size());
  const auto ago = [&](const Absence& absence) { return (step + count - absence.gap.after) % count; };
  AbsencePlan late;
  for (const Absence& absence : plan) {
    const auto behind = [&](std::uint32_t until) { return (until + count - absence.gap.after) % count; };
    const std::uint32_t back = behind(absence.back_at), until = behind(absence.gap.until);
    const std::uint32_t all = back != 0 ? back : until != 0 ? until : count;
    if (!absence.gap.dead && ago(absence) < all) late.push_back(absence);
  }
  std::ranges::stable_sort(late, std::greater(), ago);
  const GapTime time(iteration, machine);
  double queued = 0;
  std::erase_if(late, [&](const Absence& absence) {
    const Gap left{.run = absence.gap.run, .after = step, .until = absence.back_at, .wraps = absence.back_at <= step};
    const double done = queued + time.copy_out(absence.gap.run, absence.to);
    if (done > time.between(left)) return true;
    queued = done;
    return false;
  });
  return late;
}

}  // namespace tessera
