#include "learn/lookahead.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "learn/gap_time.hpp"

namespace tessera {
namespace {

// The first turns fill the device; the gaps that begin in the one before the last are in steady
// state, and the last shows when their runs come back.
constexpr std::uint64_t kTurnsPlayed = 4;
constexpr std::uint64_t kTurnPlanned = kTurnsPlayed - 2;

using Time = double;  // nanoseconds

class LookAhead {
 public:
  LookAhead(const Iteration& iteration, const Machine& machine, Nanoseconds lead)
      : iteration_(iteration),
        machine_(machine),
        lead_(static_cast<Time>(lead.value())),
        count_(iteration.steps.size()),
        distances_(next_use_distances(iteration)),
        dead_(last_uses_before_fresh(iteration)),
        time_(iteration, machine),
        runs_(iteration.runs.size()) {}

  AbsencePlan plan() {
    for (std::uint64_t at = 0; at < kTurnsPlayed * count_; ++at) {
      meet_requests(at);
      if (asked_ <= at) return {};
      execute(at);
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
    std::uint64_t next = 0;              // the step of the next use, counted over the turns
    std::uint64_t last = 0;              // likewise of the last one
    std::uint32_t lives = 0;             // that are to come in the same room
    std::optional<std::size_t> absence;  // in the plan, while it is away
  };
  struct Release {
    Time at;
    Bytes bytes;
    bool operator>(const Release& other) const { return at > other.at; }
  };

  Time begin_of(std::uint64_t step) const {
    return time_.begin_of(static_cast<std::uint32_t>(step));
  }
  const IterationStep& step_at(std::uint64_t at) const { return iteration_.steps[at % count_]; }
  Time copy_time(Bytes bytes, double rate) const {
    return rate > 0 ? static_cast<Time>(bytes.value()) * 1e9 / rate : 0;
  }

  // The way back begins with the step in which its copy begins here.
  void set_triggers() {
    for (const auto& [index, copy] : ways_back_) {
      Absence& absence = plan_[index];
      const auto begun = std::upper_bound(starts_.begin(), starts_.end(), copy);
      const auto step = static_cast<std::uint64_t>(begun - starts_.begin()) - 1;
      const std::uint64_t until =
          (absence.gap.wraps ? kTurnPlanned + 1 : kTurnPlanned) * count_ + absence.gap.until;
      if (step > kTurnPlanned * count_ + absence.gap.after && step < until) {
        absence.back_at = static_cast<std::uint32_t>(step % count_);
      }
    }
  }

  // Step by step from the one at hand, as far as there is room for.
  void meet_requests(std::uint64_t at) {
    asked_ = std::max(asked_, at);
    for (; asked_ < at + count_; ++asked_, met_ = 0) {
      const auto uses = iteration_.uses_of(static_cast<std::uint32_t>(asked_ % count_));
      for (; met_ < uses.size(); ++met_) {
        if (!meet(uses[met_], at)) return;
      }
    }
  }

  // False when there is no room yet, or it is too early.
  bool meet(const RunUse& use, std::uint64_t at) {
    RunState& run = runs_[use.run];
    if (run.there) {
      if (use.fresh) ++run.lives;
      return true;
    }
    const Bytes bytes = iteration_.runs[use.run].bytes;
    const bool brings = run.holds && !use.fresh;
    if (asked_ > at && ready_by(bytes, brings) + lead_ < now_ + between(at, asked_)) return false;
    const std::optional<Time> room = make_room(bytes);
    if (!room) return false;
    used_ += bytes;
    run.there = true;
    run.next = asked_;
    run.ready = *room;
    by_next_.insert({run.next, use.run});
    if (brings) {
      run.ready = in_free_ = std::max(in_free_, *room) + copy_time(bytes, machine_.in_rate);
      if (run.absence)
        ways_back_.push_back({*run.absence, run.ready - copy_time(bytes, machine_.in_rate)});
    }
    run.absence.reset();
    return true;
  }

  // When it would be there if it were asked for now: room takes a copy out where there is none.
  Time ready_by(Bytes bytes, bool brings) const {
    Time ready = now_;
    if (used_ + bytes > machine_.device) {
      ready = std::max(out_free_, now_) + copy_time(bytes, machine_.out_rate);
    }
    return brings ? std::max(in_free_, ready) + copy_time(bytes, machine_.in_rate) : ready;
  }

  // The time in which the device computes from the begin of one step to the begin of another.
  Time between(std::uint64_t from, std::uint64_t to) const {
    const auto turns = static_cast<Time>(to / count_) - static_cast<Time>(from / count_);
    return turns * begin_of(count_) + begin_of(to % count_) - begin_of(from % count_);
  }

  // When there is room: what leaves now, then whoever is needed later than what comes, the last first.
  std::optional<Time> make_room(Bytes bytes) {
    Time from = now_;
    let_go(now_);
    while (used_ + bytes > machine_.device) {
      if (!releases_.empty()) {
        from = std::max(from, releases_.top().at);
        used_ -= releases_.top().bytes;
        releases_.pop();
      } else if (!send_last_away()) {
        return std::nullopt;
      }
    }
    return from;
  }

  void let_go(Time now) {
    for (; !releases_.empty() && releases_.top().at <= now; releases_.pop())
      used_ -= releases_.top().bytes;
  }

  bool send_last_away() {
    for (auto last = by_next_.rbegin(); last != by_next_.rend() && last->first > asked_; ++last) {
      const std::uint32_t index = last->second;
      if (iteration_.runs[index].pinned) continue;
      leave(index);
      return true;
    }
    return false;
  }

  void leave(std::uint32_t index) {
    RunState& run = runs_[index];
    by_next_.erase({run.next, index});
    run.there = false;
    const Bytes bytes = iteration_.runs[index].bytes;
    Time gone = std::max(now_, run.ready);
    if (run.holds && !run.has_copy) {
      gone = out_free_ = std::max(out_free_, gone) + copy_time(bytes, machine_.out_rate);
      run.has_copy = true;
    }
    releases_.push({gone, bytes});
    if (run.last / count_ != kTurnPlanned) return;
    const auto after = static_cast<std::uint32_t>(run.last % count_);
    const auto until = static_cast<std::uint32_t>(run.next % count_);
    run.absence = plan_.size();
    plan_.push_back({.gap = {.run = index,
                             .after = after,
                             .until = until,
                             .wraps = run.next / count_ != kTurnPlanned},
                     .back_at = until});
  }

  void execute(std::uint64_t at) {
    starts_.push_back(now_);
    const IterationStep& step = step_at(at);
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      now_ = std::max(now_, runs_[iteration_.uses[i].run].ready);
    }
    now_ += static_cast<Time>(step.duration.value());
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      const RunUse& use = iteration_.uses[i];
      RunState& run = runs_[use.run];
      by_next_.erase({run.next, use.run});
      run.last = at;
      run.next = at + distances_[i];
      if (use.writes || use.fresh) run.has_copy = false;
      run.holds = !dead_[i];
      if (dead_[i] && run.lives > 0) {
        --run.lives;
        by_next_.insert({run.next, use.run});
      } else if (dead_[i] && !iteration_.runs[use.run].pinned) {
        run.there = false;
        releases_.push({now_, iteration_.runs[use.run].bytes});
      } else {
        by_next_.insert({run.next, use.run});
      }
    }
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const Time lead_;
  const std::uint64_t count_;
  const std::vector<std::uint32_t> distances_;
  const std::vector<bool> dead_;  // by use
  const GapTime time_;
  std::vector<RunState> runs_;
  std::set<std::pair<std::uint64_t, std::uint32_t>>
      by_next_;  // (next use, run) of those on the device
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

AbsencePlan look_ahead(const Iteration& iteration, const Machine& machine, Nanoseconds lead) {
  return LookAhead(iteration, machine, lead).plan();
}

}  // namespace tessera
