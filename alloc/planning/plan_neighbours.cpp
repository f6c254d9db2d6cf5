#include "planning/plan_neighbours.hpp"

#include <algorithm>
#include <bit>

#include "base/page_class.hpp"
#include "planning/aggressive_plan.hpp"
#include "planning/nearest_places.hpp"

namespace tessera {
namespace {

enum class Change : std::uint8_t { kResize, kShift, kDrop, kAdd, kPlace };
constexpr Change kChanges[] = {Change::kResize, Change::kShift, Change::kDrop, Change::kAdd, Change::kPlace};
constexpr std::uint64_t kMostChanges = 3;
// A part changes to between one and seven quarters of its size; of a new interval's run one to four quarters
// leave.
constexpr std::uint64_t kQuarters = 4, kFine = 256;

}  // namespace

PlanNeighbours::PlanNeighbours(const Iteration& iteration, const Machine& machine)
    : iteration_(iteration), freed_(freed_at_once(iteration)), machine_(machine) {
  changes_ = std::size(kChanges) - (needs_file(iteration, machine) ? 0 : 1);
  std::uint64_t bytes = 0;
  for (const Gap& gap : find_gaps(iteration)) {
    const IterationRun& run = iteration.runs[gap.run];
    if (gap.dead || run.pinned || span_of(gap) == 0) continue;
    gaps_.push_back(gap);
    ends_.push_back(bytes += run.bytes.value());
  }
}

OffloadPlan PlanNeighbours::draw(OffloadPlan plan) {
  std::erase_if(plan, [this](const OffloadInterval& interval) { return !part_of(interval); });
  const Change change = plan.empty() ? Change::kAdd : kChanges[below(changes_)];
  for (std::uint64_t left = 1 + below(kMostChanges); left > 0; --left) {
    if (change == Change::kAdd) {
      add_to(plan);
    } else if (plan.empty()) {
      break;
    } else if (change == Change::kResize) {
      resize(drawn(plan));
    } else if (change == Change::kShift) {
      shift(drawn(plan));
    } else if (change == Change::kPlace) {
      place(drawn(plan));
    } else {
      plan.erase(plan.begin() + (&drawn(plan) - plan.data()));
    }
  }
  if (change == Change::kShift || below(2) == 0) return plan;
  return aggressive_plan(freed_ && below(2) == 0 ? *freed_ : iteration_, machine_, plan);
}

Bytes PlanNeighbours::part_of(const OffloadInterval& interval) const {
  return std::min(interval.part, iteration_.runs[interval.gap.run].bytes);
}

// REQUIRES: the plan is not empty.
OffloadInterval& PlanNeighbours::drawn(OffloadPlan& plan) {
  std::uint64_t bytes = 0;
  for (const OffloadInterval& interval : plan) bytes += part_of(interval).value();
  std::uint64_t at = below(bytes);
  const auto drawn = std::ranges::find_if(plan, [&](const OffloadInterval& interval) {
    const std::uint64_t part = part_of(interval).value();
    const bool here = at < part;
    at -= part;
    return here;
  });
  return *drawn;
}

void PlanNeighbours::resize(OffloadInterval& interval) {
  const std::uint64_t part = part_of(interval).value();
  const std::uint64_t factor = kFine / kQuarters + below(kFine * (2 * kQuarters - 2) / kQuarters);
  interval.part = round_up(Bytes(part / kFine * factor), kBasePage);
  interval.part = part_of(interval);
}

// Exchanges the targets host and file.
void PlanNeighbours::place(OffloadInterval& interval) {
  if (interval.to == Location::kFile) {
    interval.to = Location::kHost;
  } else if (interval.to == Location::kHost) {
    interval.to = Location::kFile;
  }
}

// In steps. 0: both uses are in one step, by two runs that are treated as one.
std::uint32_t PlanNeighbours::span_of(const Gap& gap) const {
  const auto count = static_cast<std::uint32_t>(iteration_.steps.size());
  return gap.wraps ? gap.until + count - gap.after : gap.until - gap.after;
}

// By a random distance, near or far, within the gap.
void PlanNeighbours::shift(OffloadInterval& interval) {
  const auto count = static_cast<std::uint32_t>(iteration_.steps.size());
  const Gap& gap = interval.gap;
  const std::uint32_t span = span_of(gap);
  if (span == 0) return;
  const std::uint32_t inside = (interval.back_at + count - gap.after) % count;
  const std::uint32_t back = inside == 0 ? span : inside;
  const auto far = static_cast<std::uint32_t>(below(std::bit_floor(span) * std::uint64_t{2}));
  const std::uint32_t by = far >> below(static_cast<std::uint64_t>(std::bit_width(span)));
  const std::uint32_t later = std::min(back + by, span), sooner = back > by ? back - by : 1;
  interval.back_at = (gap.after + (below(2) == 0 ? later : sooner)) % count;
}

void PlanNeighbours::add_to(OffloadPlan& plan) {
  if (gaps_.empty()) return;
  const auto at = std::ranges::upper_bound(ends_, below(ends_.back()));
  const Gap& gap = gaps_[static_cast<std::size_t>(at - ends_.begin())];
  const bool has = std::ranges::any_of(plan, [&gap](const OffloadInterval& interval) {
    return interval.gap.run == gap.run && interval.gap.after == gap.after;
  });
  if (has) return;
  const Bytes bytes = iteration_.runs[gap.run].bytes;
  OffloadInterval interval{.gap = gap, .back_at = gap.until};
  interval.part = std::min(bytes, round_up(bytes / kQuarters * (1 + below(kQuarters)), kBasePage));
  shift(interval);
  plan.push_back(interval);
}

}  // namespace tessera
