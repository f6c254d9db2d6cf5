#include "planning/farthest_intervals.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/page_class.hpp"

namespace tessera {
namespace {

// The first passes fill the device. Gaps that begin in the last but one are representative of all later passes,
// and the last pass shows which of them are used.
constexpr std::uint64_t kTurnsWalked = 4;
constexpr std::uint64_t kTurnTaken = kTurnsWalked - 2;

class FarthestWalk {
 public:
  FarthestWalk(const Iteration& iteration, Bytes device)
      : iteration_(iteration),
        device_(device),
        count_(iteration.steps.size()),
        distances_(next_use_distances(iteration)),
        frees_(frees_by_step(iteration)),
        runs_(iteration.runs.size()) {}

  OffloadPlan plan() {
    for (std::uint64_t at = 0; at < kTurnsWalked * count_; ++at) {
      if (!bring(at)) return {};
      use(at);
    }
    return std::move(plan_);
  }

 private:
  struct RunState {
    Bytes there{};
    std::uint64_t next = 0;               // step of its next use, counted over the passes
    std::uint64_t last = 0;               // step of its latest use, likewise
    std::optional<std::size_t> interval;  // index in the plan, if evicted since its latest use
    bool left = false;                    // evicted since its latest use, so a copy exists
    bool clean = false;                   // unchanged since that copy was made
  };
  // Next use, whether it is clean, run.
  using Key = std::tuple<std::uint64_t, bool, std::uint32_t>;

  Key key_of(std::uint32_t run) const { return {runs_[run].next, runs_[run].clean, run}; }

  Bytes bytes_of(std::uint32_t run) const { return iteration_.runs[run].bytes; }

  // Returns false if the step's runs do not fit together.
  bool bring(std::uint64_t at) {
    const auto uses = iteration_.uses_of(static_cast<std::uint32_t>(at % count_));
    for (const RunUse& use : uses) by_next_.erase(key_of(use.run));  // runs of this step must not be evicted
    for (const RunUse& use : uses) {
      RunState& run = runs_[use.run];
      const Bytes missing = bytes_of(use.run) - run.there;
      while (used_ + missing > device_) {
        if (!send_last_away(used_ + missing - device_)) return false;
      }
      used_ += missing;
      run.there += missing;
    }
    return true;
  }

  bool send_last_away(Bytes wanted) {
    if (by_next_.empty()) return false;
    const std::uint32_t index = std::get<2>(*std::prev(by_next_.end()));
    RunState& run = runs_[index];
    const Bytes part = std::min(run.there, round_up(wanted, kBasePage));
    run.there -= part;
    run.left = true;
    used_ -= part;
    if (!run.there) by_next_.erase(std::prev(by_next_.end()));
    if (run.last / count_ == kTurnTaken) note_absence(index, part);
    return true;
  }

  void note_absence(std::uint32_t index, Bytes part) {
    RunState& run = runs_[index];
    if (run.interval) {
      plan_[*run.interval].part += part;
      return;
    }
    const Gap gap{.run = index,
                  .after = static_cast<std::uint32_t>(run.last % count_),
                  .until = static_cast<std::uint32_t>(run.next % count_),
                  .wraps = run.next / count_ != kTurnTaken};
    run.interval = plan_.size();
    plan_.push_back({.gap = gap, .back_at = gap.until, .part = part});
  }

  void use(std::uint64_t at) {
    const IterationStep& step = iteration_.steps[at % count_];
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      const std::uint32_t index = iteration_.uses[i].run;
      RunState& run = runs_[index];
      run.last = at;
      run.next = at + distances_[i];
      run.interval.reset();
      const bool changes = iteration_.uses[i].writes || iteration_.uses[i].fresh;
      const bool left = std::exchange(run.left, false);
      run.clean = !changes && (run.clean || left);
      if (!iteration_.runs[index].pinned) by_next_.insert(key_of(index));
    }
    for (const std::uint32_t index : frees_[at % count_]) {
      if (iteration_.runs[index].pinned) continue;
      by_next_.erase(key_of(index));
      used_ -= std::exchange(runs_[index].there, Bytes());
    }
  }

  const Iteration& iteration_;
  const Bytes device_;
  const std::uint64_t count_;
  const std::vector<std::uint32_t> distances_;
  const std::vector<std::vector<std::uint32_t>> frees_;  // by step
  std::vector<RunState> runs_;
  std::set<Key> by_next_;  // runs that may be evicted
  Bytes used_{};
  OffloadPlan plan_;
};

}  // namespace

OffloadPlan farthest_intervals(const Iteration& iteration, Bytes device) {
  return FarthestWalk(iteration, device).plan();
}

}  // namespace tessera
