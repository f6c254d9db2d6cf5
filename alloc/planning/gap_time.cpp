#include "planning/gap_time.hpp"

#include <algorithm>

#include "base/page_class.hpp"

namespace tessera {
namespace {

double time_for(Bytes bytes, double rate) { return rate > 0 ? static_cast<double>(bytes.value()) * 1e9 / rate : 0; }

}  // namespace

GapTime::GapTime(const Iteration& iteration, const Machine& machine)
    : iteration_(iteration),
      machine_(machine),
      count_(static_cast<std::uint32_t>(iteration.steps.size())),
      begins_{0.0},
      written_(iteration.runs.size()) {
  for (const IterationStep& step : iteration.steps) {
    begins_.push_back(begins_.back() + static_cast<double>((step.before + step.duration).value()));
  }
  for (const RunUse& use : iteration.uses) {
    if (use.writes) written_[use.run] = true;
  }
}

double GapTime::copy_out(std::uint32_t run, Location to) const {
  if (!written_[run] || to == Location::kNowhere) return 0;
  if (to == Location::kPeer) return time_for(iteration_.runs[run].bytes, machine_.peer_rate);
  const double link = time_for(iteration_.runs[run].bytes, machine_.out_rate);
  if (to != Location::kFile) return link;
  return std::max(link, time_for(iteration_.runs[run].bytes, machine_.file_write_rate));
}

double GapTime::copy_in(std::uint32_t run, Location to) const {
  const IterationRun& what = iteration_.runs[run];
  if (to == Location::kNowhere) return static_cast<double>(what.recompute.value());
  const double mapping = mapping_time(machine_, shape_for(what.bytes).pages());
  if (to == Location::kPeer) return mapping + time_for(what.bytes, machine_.peer_rate);
  const double link = time_for(what.bytes, machine_.in_rate);
  return mapping + (to == Location::kFile ? std::max(link, time_for(what.bytes, machine_.file_read_rate)) : link);
}

double GapTime::since(const Gap& gap, std::uint32_t position) const {
  const std::uint32_t step = gap.after + 1 + position;
  const double begin = step < count_ ? begins_[step] : begins_[count_] + begins_[step - count_];
  return begin - begins_[gap.after + 1];
}

double GapTime::between(const Gap& gap) const {
  return since(gap, steps_inside(gap)) + static_cast<double>(iteration_.steps[gap.until].before.value());
}

double GapTime::free_time(const Gap& gap, Location to) const {
  return between(gap) - copy_out(gap.run, to) - copy_in(gap.run, to);
}

std::uint32_t GapTime::steps_inside(const Gap& gap) const {
  const std::uint32_t span = gap.wraps ? gap.until + count_ - gap.after : gap.until - gap.after;
  return span > 0 ? span - 1 : 0;
}

std::uint32_t GapTime::step_at(const Gap& gap, std::uint32_t position) const {
  return (gap.after + 1 + position) % count_;
}

std::uint32_t GapTime::inside(const Gap& gap, std::uint32_t step) const {
  const std::uint32_t position = (step + count_ - gap.after - 1) % count_;
  if (position < steps_inside(gap)) return step;
  return step_at(gap, 0);
}

std::uint32_t GapTime::back_by(const Gap& gap, double lead) const {
  if (lead <= 0) return gap.until;
  const double all = between(gap);
  std::uint32_t low = 0, high = steps_inside(gap);  // binary search for the first position that is too late
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (all - since(gap, middle) >= lead) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return step_at(gap, low > 0 ? low - 1 : 0);
}

std::uint32_t GapTime::steps_leaving(const Gap& gap, Location to) const {
  const double out = copy_out(gap.run, to);
  const std::uint32_t inside = steps_inside(gap);
  std::uint32_t steps = 0;
  while (steps < inside && since(gap, steps) < out) ++steps;
  return steps;
}

}  // namespace tessera
