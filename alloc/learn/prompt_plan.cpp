#include "learn/prompt_plan.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

namespace tessera {
namespace {

// The first turns fill the device; what leaves in the last but one is the plan, and the last shows when it
// comes back.
constexpr std::uint64_t kTurnsPlayed = 4;
constexpr std::uint64_t kTurnPlanned = kTurnsPlayed - 2;

using Time = double;  // nanoseconds

class Prompt {
 public:
  Prompt(const Iteration& iteration, const Machine& machine, const std::vector<Gap>& gaps)
      : iteration_(iteration), machine_(machine), count_(iteration.steps.size()),
        dies_(last_uses_before_fresh(iteration)), runs_(iteration.runs.size()), leaving_(count_) {
    for (const Gap& gap : gaps) leaving_[gap.after].push_back(gap);
  }

  AbsencePlan plan() {
    for (std::uint64_t at = 0; at < kTurnsPlayed * count_; ++at) {
      give_room(at);
      if (asked_ <= at) return {};
      execute(at);
      for (const Gap& gap : leaving_[at % count_]) leave(gap, at);
    }
    set_triggers();
    return std::move(plan_);
  }

 private:
  struct RunState {
    bool there = false;                  // has its room on the device
    bool has_copy = false;               // in a lower tier, and valid
    bool holds = false;                  // something that matters
    Time ready = 0;                      // its bytes are on the device
    std::uint32_t lives = 0;             // that are to come in the same room
    std::optional<std::size_t> absence;  // in the plan, while it is away
  };
  struct Release {
    Time at;
    Bytes bytes;
    bool operator>(const Release& other) const { return at > other.at; }
  };

  static Time copy_time(Bytes bytes, double rate) {
    return rate > 0 ? static_cast<Time>(bytes.value()) * 1e9 / rate : 0;
  }

  // To use after use from the step at hand on, at most a turn ahead; the first without room ends it.
  void give_room(std::uint64_t at) {
    for (; asked_ < at + count_; ++asked_, met_ = 0) {
      const auto uses = iteration_.uses_of(static_cast<std::uint32_t>(asked_ % count_));
      for (; met_ < uses.size(); ++met_) {
        if (!meet(uses[met_])) return;
      }
    }
  }

  bool meet(const RunUse& use) {
    RunState& run = runs_[use.run];
    if (run.there) {
      if (use.fresh) ++run.lives;
      return true;
    }
    const Bytes bytes = iteration_.runs[use.run].bytes;
    const std::optional<Time> room = room_for(bytes);
    if (!room) return false;
    used_ += bytes;
    run.there = true;
    run.ready = *room;
    if (run.holds && !use.fresh) {
      const Time begins = std::max(in_free_, *room);
      run.ready = in_free_ = begins + copy_time(bytes, machine_.in_rate);
      if (run.absence) ways_back_.push_back({*run.absence, begins});
    }
    run.absence.reset();
    return true;
  }

  // When it is there: by what is on its way out, in its order.
  std::optional<Time> room_for(Bytes bytes) {
    Time from = now_;
    while (!releases_.empty() && (releases_.top().at <= now_ || used_ + bytes > machine_.device)) {
      from = std::max(from, releases_.top().at);
      used_ -= releases_.top().bytes;
      releases_.pop();
    }
    if (used_ + bytes > machine_.device) return std::nullopt;
    return from;
  }

  void execute(std::uint64_t at) {
    starts_.push_back(now_);
    const IterationStep& step = iteration_.steps[at % count_];
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      now_ = std::max(now_, runs_[iteration_.uses[i].run].ready);
    }
    now_ += static_cast<Time>(step.duration.value());
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      const RunUse& use = iteration_.uses[i];
      RunState& run = runs_[use.run];
      if (use.writes || use.fresh) run.has_copy = false;
      run.holds = !dies_[i];
      if (!dies_[i] || iteration_.runs[use.run].pinned) continue;
      if (run.lives > 0) {
        --run.lives;
      } else {
        run.there = false;
        releases_.push({now_, iteration_.runs[use.run].bytes});
      }
    }
  }

  // Not who has been given his room for the end of the gap already: he would go and come at once.
  void leave(const Gap& gap, std::uint64_t at) {
    RunState& run = runs_[gap.run];
    const std::uint64_t until = at - gap.after + gap.until + (gap.wraps ? count_ : 0);
    if (!run.there || asked_ > until) return;
    run.there = false;
    Time gone = now_;
    if (run.holds && !run.has_copy) {
      gone = out_free_ = std::max(out_free_, now_) + copy_time(iteration_.runs[gap.run].bytes, machine_.out_rate);
      run.has_copy = true;
    }
    releases_.push({gone, iteration_.runs[gap.run].bytes});
    if (at / count_ != kTurnPlanned) return;
    run.absence = plan_.size();
    plan_.push_back({.gap = gap, .back_at = gap.until});
  }

  // The way back begins with the step in which its copy begins here.
  void set_triggers() {
    for (const auto& [index, copy] : ways_back_) {
      Absence& absence = plan_[index];
      const auto begun = std::upper_bound(starts_.begin(), starts_.end(), copy);
      const auto step = static_cast<std::uint64_t>(begun - starts_.begin()) - 1;
      const std::uint64_t turn = kTurnPlanned * count_;
      const std::uint64_t until = turn + absence.gap.until + (absence.gap.wraps ? count_ : 0);
      if (step > turn + absence.gap.after && step < until) {
        absence.back_at = static_cast<std::uint32_t>(step % count_);
      }
    }
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const std::uint64_t count_;
  const std::vector<bool> dies_;  // by use
  std::vector<RunState> runs_;
  std::vector<std::vector<Gap>> leaving_;  // by the step after which they begin
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
  Bytes used_{};
  Time now_ = 0, out_free_ = 0, in_free_ = 0;
  std::uint64_t asked_ = 0;  // all steps before this one have their room
  std::size_t met_ = 0;      // and so many uses of this one
  AbsencePlan plan_;
  std::vector<std::pair<std::size_t, Time>> ways_back_;  // when the copies in begin
  std::vector<Time> starts_;                             // of the steps
};

}  // namespace

AbsencePlan prompt_plan(const Iteration& iteration, const Machine& machine, const std::vector<Gap>& gaps) {
  return Prompt(iteration, machine, gaps).plan();
}

}  // namespace tessera
