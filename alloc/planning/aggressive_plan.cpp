#include "planning/aggressive_plan.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "base/page_class.hpp"

namespace tessera {
namespace {

// The first passes fill the device. The evictions of the last but one pass are the plan, and the last pass
// shows when they are fetched.
constexpr std::uint64_t kTurnsPlayed = 4;
constexpr std::uint64_t kTurnPlanned = kTurnsPlayed - 2;
// The chosen intervals may leave a step without room; at most this many are added.
constexpr int kMostAdded = 16;

using Time = double;  // nanoseconds

class AggressivePlanner {
 public:
  AggressivePlanner(const Iteration& iteration, const Machine& machine, const OffloadPlan& chosen)
      : iteration_(iteration),
        machine_(machine),
        count_(iteration.steps.size()),
        distances_(next_use_distances(iteration)),
        frees_(frees_by_step(iteration)),
        runs_(iteration.runs.size()),
        leaving_(count_),
        host_{machine.out_rate, machine.in_rate},
        file_{slower(machine.out_rate, machine.file_write_rate), slower(machine.in_rate, machine.file_read_rate)},
        peer_{machine.peer_rate, machine.peer_rate} {
    for (std::size_t run = 0; run < runs_.size(); ++run) runs_[run].away = iteration.runs[run].bytes;
    for (const OffloadInterval& interval : chosen) {
      if (interval.gap.dead || interval.to == Location::kNowhere) continue;
      leaving_[interval.gap.after].push_back(&interval);
    }
  }

  // Returns false if the current step has no room.
  bool play() {
    for (; at_ < kTurnsPlayed * count_; ++at_) {
      give_room(at_);
      if (asked_ <= at_) return false;
      execute(at_);
      for (const OffloadInterval* interval : leaving_[at_ % count_]) leave(*interval, at_);
    }
    set_triggers();
    return true;
  }
  OffloadPlan take_plan() { return std::move(plan_); }

  // Of the runs on the device without a use in this step, the gap of the one with the farthest next use that no
  // interval covers.
  std::optional<Gap> another() const {
    std::vector<bool> busy(runs_.size());
    for (const RunUse& use : iteration_.uses_of(static_cast<std::uint32_t>(at_ % count_))) busy[use.run] = true;
    std::optional<std::uint32_t> last;
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      const RunState& state = runs_[run];
      const bool there = state.holds && state.away < iteration_.runs[run].bytes;
      if (!there || busy[run] || iteration_.runs[run].pinned || is_chosen(run)) continue;
      if (!last || state.next > runs_[*last].next) last = run;
    }
    if (!last) return std::nullopt;
    const RunState& state = runs_[*last];
    return Gap{.run = *last,
               .after = static_cast<std::uint32_t>(state.last % count_),
               .until = static_cast<std::uint32_t>(state.next % count_),
               .wraps = state.next / count_ != state.last / count_};
  }

 private:
  struct RunState {
    Bytes away{};                         // not on the device
    Bytes copied{};                       // this many bytes at its end have a valid copy in a lower tier
    bool holds = false;                   // whether its contents matter
    Location to = Location::kHost;        // the latest offload target
    std::uint64_t last = 0, next = 0;     // steps of its uses around now, counted over the passes
    Time ready = 0;                       // when its bytes are on the device
    std::uint32_t lives = 0;              // further allocations that will reuse its memory
    std::optional<std::size_t> interval;  // index in the plan, until its fetch begins
  };
  struct Release {
    Time at;
    Bytes bytes;
    bool operator>(const Release& other) const { return at > other.at; }
  };

  // Both directions of a link, and when each becomes free.
  struct Link {
    double out_rate, in_rate;
    Time out_free = 0, in_free = 0;
  };

  static Time copy_time(Bytes bytes, double rate) {
    return rate > 0 ? static_cast<Time>(bytes.value()) * 1e9 / rate : 0;
  }
  // Moves to the file pass through the host link, which has capacity to spare: the disk is a queue of its own.
  static double slower(double link, double file) { return file > 0 ? std::min(link, file) : link; }
  Link& link_to(Location away) { return away == Location::kPeer ? peer_ : away == Location::kFile ? file_ : host_; }

  // Gives room to one use after another from the current step on, at most one pass ahead; stops at the first
  // without room.
  void give_room(std::uint64_t at) {
    for (; asked_ < at + count_; ++asked_, met_ = 0) {
      const auto uses = iteration_.uses_of(static_cast<std::uint32_t>(asked_ % count_));
      for (; met_ < uses.size(); ++met_) {
        if (!meet(uses[met_])) return;
      }
    }
  }

  // Page by page, as room becomes free.
  bool meet(const RunUse& use) {
    RunState& run = runs_[use.run];
    const bool copies = run.holds && !use.fresh;
    while (run.away) {
      const Bytes room = next_room(std::min(run.away, kBasePage));
      if (!room) return false;
      const Bytes piece = room < run.away ? room / kBasePage * kBasePage : run.away;
      used_ += piece;
      run.away -= piece;
      const Time from = std::max(now_, room_since_);
      run.ready = std::max(run.ready, from);
      if (!copies) continue;
      Link& link = link_to(run.to);
      const Time begins = std::max(link.in_free, from);
      run.ready = link.in_free =
          begins + mapping_time(machine_, shape_for(piece).pages()) + copy_time(piece, link.in_rate);
      if (run.interval) ways_back_.push_back({*std::exchange(run.interval, std::nullopt), begins});
    }
    run.interval.reset();
    if (use.fresh && run.holds) ++run.lives;
    return true;
  }

  // The free bytes; if they are less than `least`, waits for evictions in flight, in their order. 0 if those do
  // not suffice.
  Bytes next_room(Bytes least) {
    while (!releases_.empty() && (releases_.top().at <= now_ || used_ + least > machine_.device)) {
      room_since_ = std::max(room_since_, releases_.top().at);
      used_ -= releases_.top().bytes;
      releases_.pop();
    }
    return used_ + least > machine_.device ? Bytes() : machine_.device - used_;
  }

  void execute(std::uint64_t at) {
    starts_.push_back(now_);
    const IterationStep& step = iteration_.steps[at % count_];
    now_ += static_cast<Time>(step.before.value());
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      now_ = std::max(now_, runs_[iteration_.uses[i].run].ready);
    }
    now_ += static_cast<Time>(step.duration.value());
    for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
      const RunUse& use = iteration_.uses[i];
      RunState& run = runs_[use.run];
      if (use.writes || use.fresh) run.copied = {};
      run.holds = true;
      run.last = at;
      run.next = at + distances_[i];
    }
    for (const std::uint32_t run : frees_[at % count_]) free(run);
  }

  bool is_chosen(std::uint32_t run) const {
    return std::ranges::any_of(leaving_[runs_[run].last % count_],
                               [run](const OffloadInterval* interval) { return interval->gap.run == run; });
  }

  void free(std::uint32_t index) {
    RunState& run = runs_[index];
    run.holds = false;
    if (iteration_.runs[index].pinned) return;
    if (run.lives > 0) {
      --run.lives;
    } else {
      releases_.push({now_, iteration_.runs[index].bytes - run.away});
      run.away = iteration_.runs[index].bytes;
    }
  }

  // Skips a run that already got room for the end of the gap: it would be evicted and fetched at once.
  void leave(const OffloadInterval& chosen, std::uint64_t at) {
    const Gap& gap = chosen.gap;
    RunState& run = runs_[gap.run];
    const std::uint64_t until = at - gap.after + gap.until + (gap.wraps ? count_ : 0);
    if (run.away || asked_ > until) return;
    const Bytes part = std::min(chosen.part, iteration_.runs[gap.run].bytes);
    run.away = part;
    run.to = chosen.to;
    Link& link = link_to(chosen.to);
    const Bytes free_at_once = run.holds ? std::min(part, run.copied) : part;
    releases_.push({now_, free_at_once});
    Time gone = std::max(link.out_free, now_);
    for (Bytes rest = part - free_at_once; rest;) {
      const Bytes piece = std::min(rest, kLargePage);
      rest -= piece;
      gone += copy_time(piece, link.out_rate);
      releases_.push({gone, piece});
      link.out_free = gone;
    }
    run.copied = std::max(run.copied, part);
    if (at / count_ != kTurnPlanned) return;
    run.interval = plan_.size();
    plan_.push_back({.gap = gap, .back_at = gap.until, .to = chosen.to, .part = part});
  }

  // The trigger step of a fetch is the step during which its copy begins here.
  void set_triggers() {
    for (const auto& [index, copy] : ways_back_) {
      OffloadInterval& interval = plan_[index];
      const auto begun = std::upper_bound(starts_.begin(), starts_.end(), copy);
      const auto step = static_cast<std::uint64_t>(begun - starts_.begin()) - 1;
      const std::uint64_t turn = kTurnPlanned * count_;
      const std::uint64_t until = turn + interval.gap.until + (interval.gap.wraps ? count_ : 0);
      if (step > turn + interval.gap.after && step < until) {
        interval.back_at = static_cast<std::uint32_t>(step % count_);
      }
    }
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const std::uint64_t count_;
  const std::vector<std::uint32_t> distances_;           // per use
  const std::vector<std::vector<std::uint32_t>> frees_;  // per step
  std::vector<RunState> runs_;
  std::vector<std::vector<const OffloadInterval*>> leaving_;  // by the step after which they begin
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
  Bytes used_{};
  Time room_since_ = 0;  // when the room that is free now became free
  Time now_ = 0;
  Link host_, file_, peer_;
  std::uint64_t at_ = 0;     // the current step, counted over the passes
  std::uint64_t asked_ = 0;  // all steps before this one have room
  std::size_t met_ = 0;      // and this many uses of this step
  OffloadPlan plan_;
  std::vector<std::pair<std::size_t, Time>> ways_back_;  // plan index and begin of each copy in
  std::vector<Time> starts_;                             // per step
};

}  // namespace

OffloadPlan aggressive_plan(const Iteration& iteration, const Machine& machine, const OffloadPlan& chosen) {
  OffloadPlan all = chosen;
  for (int added = 0; added <= kMostAdded; ++added) {
    AggressivePlanner planner(iteration, machine, all);
    if (planner.play()) return planner.take_plan();
    const std::optional<Gap> gap = planner.another();
    if (!gap) return {};
    all.push_back({.gap = *gap, .back_at = gap->until});
  }
  return {};
}

}  // namespace tessera
