#include "lab/published/object_walk.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint32_t kNoClass = ~std::uint32_t{0};
constexpr std::uint32_t kNoGap = ~std::uint32_t{0};

}  // namespace

ObjectWalk::ObjectWalk(const Iteration& iteration, const Machine& machine)
    : ground_(iteration, machine), capacity_(machine.device), gaps_(find_gaps(iteration)) {
  make_classes();
  index_gaps();
}

void ObjectWalk::make_classes() {
  const Iteration& iteration = ground_.iteration;
  std::array<std::uint32_t, 65> by_width;
  by_width.fill(kNoClass);
  class_of_.assign(iteration.runs.size(), kNoClass);
  for (std::size_t i = 0; i < iteration.runs.size(); ++i) {
    const IterationRun& run = iteration.runs[i];
    if (run.pinned) capacity_ -= std::min(capacity_, run.bytes);
    if (run.pinned || run.bytes == Bytes()) continue;
    std::uint32_t& index = by_width[static_cast<std::size_t>(std::bit_width(run.bytes.value()))];
    if (index == kNoClass) {
      index = static_cast<std::uint32_t>(classes_.size());
      classes_.push_back({});
    }
    class_of_[i] = index;
    classes_[index].object = std::max(classes_[index].object, run.bytes);
    ++classes_[index].most;
  }
  std::vector<std::uint32_t> needed(classes_.size());
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    std::fill(needed.begin(), needed.end(), 0);
    for (const RunUse& use : iteration.uses_of(step)) {
      if (class_of_[use.run] == kNoClass) continue;
      ObjectClass& own = classes_[class_of_[use.run]];
      own.least = std::max(own.least, ++needed[class_of_[use.run]]);
    }
  }
}

void ObjectWalk::index_gaps() {
  std::vector<std::uint32_t> next(ground_.iteration.runs.size(), kNoGap);
  for (std::uint32_t i = 0; i < gaps_.size(); ++i) {
    if (next[gaps_[i].run] == kNoGap) next[gaps_[i].run] = i;
  }
  for (const RunUse& use : ground_.iteration.uses) gap_of_use_.push_back(next[use.run]++);
}

Bytes ObjectWalk::bytes_of(const ObjectCounts& counts) const {
  Bytes bytes;
  for (std::size_t i = 0; i < counts.size(); ++i) bytes += classes_[i].object * counts[i];
  return bytes;
}

ObjectCounts ObjectWalk::least_counts() const {
  ObjectCounts counts;
  for (const ObjectClass& one : classes_) counts.push_back(one.least);
  return counts;
}

ObjectCounts ObjectWalk::even_counts() const {
  ObjectCounts counts = least_counts();
  double least = 0, all = 0;
  for (const ObjectClass& one : classes_) {
    least += static_cast<double>((one.object * one.least).value());
    all += static_cast<double>((one.object * one.most).value());
  }
  const double room = static_cast<double>(capacity_.value()) - least;
  const double share = all > least ? std::clamp(room / (all - least), 0.0, 1.0) : 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] += static_cast<std::uint32_t>(share * (classes_[i].most - classes_[i].least));
  }
  return counts;
}

// Three passes through the iteration: the first fills the objects, the second records what is evicted, and in
// the third the last of those are fetched.
class ObjectTurns {
 public:
  ObjectTurns(const ObjectWalk& walk, const ObjectCounts& counts)
      : walk_(walk),
        counts_(counts),
        by_next_(counts.size()),
        runs_(walk.class_of_.size()),
        absences_(walk.gaps_.size()) {}

  OffloadPlan run() {
    const auto steps = static_cast<std::uint32_t>(iteration().steps.size());
    for (turn_ = 0; turn_ < 3; ++turn_) {
      for (std::uint32_t step = 0; step < steps; ++step) go_through(step);
    }
    OffloadPlan plan = walk_.ground_.plan;
    for (const std::optional<OffloadInterval>& interval : absences_) {
      if (interval) plan.push_back(*interval);
    }
    return plan;
  }

 private:
  struct Held {
    bool has_object = false;
    std::uint64_t used = 0;  // position of the latest use, from 1
    std::uint64_t next = 0;
    std::uint32_t gap = kNoGap;
    std::uint32_t left_in = kNoGap;  // the gap in which it is offloaded, if recorded
  };

  const Iteration& iteration() const { return walk_.ground_.iteration; }

  void go_through(std::uint32_t step) {
    ++position_;
    const IterationStep& own = iteration().steps[step];
    for (std::uint32_t i = own.first_use; i < own.end_use; ++i) runs_[iteration().uses[i].run].used = position_;
    for (std::uint32_t i = own.first_use; i < own.end_use; ++i) take_object(iteration().uses[i].run);
    for (std::uint32_t i = own.first_use; i < own.end_use; ++i) note_use(i);
  }

  void take_object(std::uint32_t index) {
    Held& run = runs_[index];
    const std::uint32_t own = walk_.class_of_[index];
    if (own == kNoClass || run.has_object) return;
    if (by_next_[own].size() < counts_[own]) return hold(index, own);
    for (auto last = by_next_[own].rbegin(); last != by_next_[own].rend(); ++last) {
      if (runs_[last->second].used == position_) continue;
      come_behind(index, send_away(last->second));
      return hold(index, own);
    }
  }

  void hold(std::uint32_t index, std::uint32_t own) {
    runs_[index].has_object = true;
    runs_[index].left_in = kNoGap;
    by_next_[own].insert({runs_[index].next, index});
  }

  // Returns the first step in which its object is free.
  std::uint32_t send_away(std::uint32_t index) {
    Held& run = runs_[index];
    by_next_[walk_.class_of_[index]].erase({run.next, index});
    run.has_object = false;
    const Gap& gap = walk_.gaps_[run.gap];
    if (turn_ == 1) {
      absences_[run.gap] = walk_.ground_.in_time(gap);
      run.left_in = run.gap;
    }
    return (gap.after + 1) % static_cast<std::uint32_t>(iteration().steps.size());
  }

  void come_behind(std::uint32_t index, std::uint32_t free_from) {
    const std::uint32_t left_in = runs_[index].left_in;
    if (left_in == kNoGap) return;
    OffloadInterval& interval = *absences_[left_in];
    if (free_from != interval.gap.until) interval.back_at = walk_.ground_.time.inside(interval.gap, free_from);
  }

  void note_use(std::uint32_t use) {
    const std::uint32_t index = iteration().uses[use].run;
    const std::uint32_t own = walk_.class_of_[index];
    if (own == kNoClass) return;
    Held& run = runs_[index];
    by_next_[own].erase({run.next, index});
    run.gap = walk_.gap_of_use_[use];
    const Gap& gap = walk_.gaps_[run.gap];
    run.next = position_ + walk_.ground_.time.steps_inside(gap) + 1;
    run.has_object = !gap.dead;
    if (run.has_object) by_next_[own].insert({run.next, index});
  }

  const ObjectWalk& walk_;
  const ObjectCounts& counts_;
  std::vector<std::set<std::pair<std::uint64_t, std::uint32_t>>> by_next_;  // runs that hold an object, per class
  std::vector<Held> runs_;
  std::vector<std::optional<OffloadInterval>> absences_;  // per gap
  std::uint64_t position_ = 0;
  int turn_ = 0;
};

OffloadPlan ObjectWalk::plan(const ObjectCounts& counts) const { return ObjectTurns(*this, counts).run(); }

}  // namespace tessera
