#include "planning/excess_cover.hpp"

#include <algorithm>
#include <optional>
#include <queue>

#include "base/page_class.hpp"

namespace tessera {
namespace {

// The steps strictly inside a gap, as an interval on a circle.
struct Stretch {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

class Cover {
 public:
  Cover(const Iteration& iteration, const Machine& machine, GapOrder order)
      : iteration_(iteration),
        machine_(machine),
        order_(order),
        gaps_(find_gaps(iteration)),
        count_(static_cast<std::uint32_t>(iteration.steps.size())) {
    for (const IterationStep& step : iteration.steps) {
      const auto duration = static_cast<double>((step.before + step.duration).value());
      out_left_.push_back(duration);
      in_left_.push_back(duration);
    }
    measure_excess();
    copies_out_.resize(iteration.runs.size());
    for (const RunUse& use : iteration.uses) {
      if (use.writes) copies_out_[use.run] = true;
    }
  }

  OffloadPlan choose() {
    OffloadPlan plan;
    for (const Gap& gap : gaps_) {
      if (is_freed(gap)) plan.push_back({.gap = gap, .back_at = gap.until});
    }
    take_hidden(plan);
    take_exposed(plan);
    return plan;
  }

 private:
  struct Ranked {
    double score;
    std::uint32_t gap;
    bool operator<(const Ranked& other) const { return score != other.score ? score < other.score : gap > other.gap; }
  };

  std::uint32_t step_at(const Stretch& stretch, std::uint32_t offset) const {
    return (stretch.begin + offset) % count_;
  }
  Stretch inside(const Gap& gap) const {
    const std::uint32_t span = gap.wraps ? gap.until + count_ - gap.after : gap.until - gap.after;
    return {(gap.after + 1) % count_, span > 0 ? span - 1 : 0};
  }
  // A pinned run keeps its memory, whatever it holds.
  bool is_freed(const Gap& gap) const { return gap.dead && !iteration_.runs[gap.run].pinned; }
  double bytes_of(const Gap& gap) const { return static_cast<double>(iteration_.runs[gap.run].bytes.value()); }
  double out_time(const Gap& gap) const {
    return copies_out_[gap.run] && machine_.out_rate > 0 ? bytes_of(gap) * 1e9 / machine_.out_rate : 0;
  }
  double in_time(const Gap& gap) const {
    const double mapping = mapping_time(machine_, shape_for(iteration_.runs[gap.run].bytes).pages());
    return mapping + (machine_.in_rate > 0 ? bytes_of(gap) * 1e9 / machine_.in_rate : 0);
  }

  // A run counts in all steps around the circle, except inside its dead gaps.
  void measure_excess() {
    double all = 0;
    std::vector<bool> counted(iteration_.runs.size());
    for (const Gap& gap : gaps_) {
      if (!counted[gap.run]) all += bytes_of(gap);
      counted[gap.run] = true;
    }
    excess_.assign(count_, all - static_cast<double>(machine_.device.value()));
    for (const Gap& gap : gaps_) {
      if (is_freed(gap)) relieve(inside(gap), bytes_of(gap));
    }
  }

  void relieve(const Stretch& stretch, double bytes) {
    for (std::uint32_t i = 0; i < stretch.length; ++i) excess_[step_at(stretch, i)] -= bytes;
  }

  // The number of steps from the given end of the stretch that a copy of this duration takes; nullopt if the
  // stretch is too short.
  std::optional<std::uint32_t> steps_for(const Stretch& stretch, const std::vector<double>& left, double time,
                                         bool from_end) const {
    std::uint32_t steps = 0;
    while (time > 0) {
      if (steps == stretch.length) return std::nullopt;
      time -= left[step_at(stretch, from_end ? stretch.length - 1 - steps : steps)];
      ++steps;
    }
    return steps;
  }

  void reserve(const Stretch& stretch, std::vector<double>& left, double time, bool from_end) const {
    for (std::uint32_t i = 0; i < stretch.length && time > 0; ++i) {
      double& step = left[step_at(stretch, from_end ? stretch.length - 1 - i : i)];
      const double taken = std::min(step, time);
      step -= taken;
      time -= taken;
    }
  }

  // The steps during which the run would be off the device if its copies were hidden.
  std::optional<Stretch> hidden(const Gap& gap) const {
    const Stretch stretch = inside(gap);
    const auto out = steps_for(stretch, out_left_, out_time(gap), false);
    const auto in = steps_for(stretch, in_left_, in_time(gap), true);
    if (!out || !in || *out + *in >= stretch.length) return std::nullopt;
    return Stretch{step_at(stretch, *out), stretch.length - *out - *in};
  }

  double relief(const Stretch& stretch, double bytes) const {
    double sum = 0;
    for (std::uint32_t i = 0; i < stretch.length; ++i) {
      sum += std::clamp(excess_[step_at(stretch, i)], 0.0, bytes);
    }
    return sum;
  }

  // 0 if it would not reduce any excess.
  double score(const Gap& gap) const {
    const std::optional<Stretch> away = hidden(gap);
    if (!away) return 0;
    const double relieved = relief(*away, bytes_of(gap));
    if (relieved <= 0) return 0;
    switch (order_) {
      case GapOrder::kReliefPerCopy: return relieved / (out_time(gap) + in_time(gap) + 1);
      case GapOrder::kLongest: return away->length;
      case GapOrder::kLargest: return bytes_of(gap);
    }
    return 0;
  }

  // Scores only fall as other gaps are taken, so a top entry with an unchanged score is the best of all.
  void take_hidden(OffloadPlan& plan) {
    std::priority_queue<Ranked> candidates;
    for (std::uint32_t i = 0; i < gaps_.size(); ++i) {
      if (gaps_[i].dead || iteration_.runs[gaps_[i].run].pinned) continue;
      if (const double now = score(gaps_[i]); now > 0) candidates.push({now, i});
    }
    while (!candidates.empty()) {
      const Ranked best = candidates.top();
      candidates.pop();
      const double now = score(gaps_[best.gap]);
      if (now <= 0) continue;
      if (!candidates.empty() && now < candidates.top().score) {
        candidates.push({now, best.gap});
        continue;
      }
      take(gaps_[best.gap], *hidden(gaps_[best.gap]), plan);
    }
  }

  void take(const Gap& gap, const Stretch& away, OffloadPlan& plan) {
    const Stretch stretch = inside(gap);
    reserve(stretch, out_left_, out_time(gap), false);
    reserve(stretch, in_left_, in_time(gap), true);
    relieve(away, bytes_of(gap));
    taken_.resize(gaps_.size());
    taken_[static_cast<std::size_t>(&gap - gaps_.data())] = true;
    plan.push_back({.gap = gap, .back_at = step_at(away, away.length)});
  }

  // Gaps that cannot be hidden and still cause excess leave at once and return as soon as the link allows; the
  // stalls occur where the link model places them.
  void take_exposed(OffloadPlan& plan) {
    taken_.resize(gaps_.size());
    std::priority_queue<Ranked> candidates;
    for (std::uint32_t i = 0; i < gaps_.size(); ++i) {
      const Gap& gap = gaps_[i];
      if (gap.dead || taken_[i] || iteration_.runs[gap.run].pinned) continue;
      const double relieved = relief(inside(gap), bytes_of(gap));
      if (relieved > 0) candidates.push({relieved / (out_time(gap) + in_time(gap) + 1), i});
    }
    for (; !candidates.empty(); candidates.pop()) {
      const Gap& gap = gaps_[candidates.top().gap];
      const Stretch stretch = inside(gap);
      if (relief(stretch, bytes_of(gap)) <= 0) continue;
      relieve(stretch, bytes_of(gap));
      const auto in = steps_for(stretch, in_left_, in_time(gap), true);
      reserve(stretch, in_left_, in_time(gap), true);
      const std::uint32_t back = in ? stretch.length - *in : stretch.length / 2;
      plan.push_back({.gap = gap, .back_at = step_at(stretch, back)});
    }
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const GapOrder order_;
  const std::vector<Gap> gaps_;
  const std::uint32_t count_;
  std::vector<double> excess_;    // bytes per step above the device's capacity
  std::vector<double> out_left_;  // free link time per step, nanoseconds
  std::vector<double> in_left_;
  std::vector<bool> copies_out_;  // per run: written in each iteration
  std::vector<bool> taken_;       // per gap
};

}  // namespace

OffloadPlan cover_excess(const Iteration& iteration, const Machine& machine, GapOrder order) {
  return Cover(iteration, machine, order).choose();
}

}  // namespace tessera
