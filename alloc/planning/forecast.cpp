#include "planning/forecast.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>

namespace tessera {
namespace {

// The first passes fill the device; the last is in steady state and is the one measured.
constexpr int kTurns = 3;

using Time = double;  // nanoseconds

Time copy_time(Bytes bytes, double rate) { return rate > 0 ? static_cast<double>(bytes.value()) * 1e9 / rate : 0; }

class Model {
 public:
  Model(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan)
      : iteration_(iteration),
        machine_(machine),
        distances_(next_use_distances(iteration)),
        frees_(frees_by_step(iteration)),
        runs_(iteration.runs.size()),
        leaving_(iteration.steps.size()),
        coming_(iteration.steps.size()) {
    for (std::size_t run = 0; run < runs_.size(); ++run) runs_[run].missing = iteration.runs[run].bytes;
    for (const OffloadInterval& interval : plan) {
      leaving_[interval.gap.after].push_back(&interval);
      if (interval.back_at != interval.gap.until) coming_[interval.back_at].push_back(interval.gap.run);
    }
  }

  Forecast run() {
    for (int turn = 0; turn < kTurns; ++turn) {
      const Time begin = now_;
      result_ = {};
      let_go(now_);
      result_.peak = used_;
      for (std::uint32_t step = 0; step < iteration_.steps.size() && result_.possible; ++step) {
        go_through(step);
      }
      result_.makespan = Nanoseconds(static_cast<std::uint64_t>(now_ - begin));
      if (!result_.possible) break;
    }
    return result_;
  }

 private:
  struct RunState {
    Bytes missing;  // this many bytes at its end are not on the device
    Bytes copied;   // this many bytes at its end have a valid copy in a lower tier
    bool written_ever = false;
    Time ready = 0;          // when its bytes are on the device
    std::uint64_t next = 0;  // step of the next use, counted over the passes
    Location to = Location::kHost;
  };
  struct Release {
    Time at;
    Bytes bytes;
    bool operator>(const Release& other) const { return at > other.at; }
  };

  // The file is behind the host link, so the slower of both counts. A peer has its own links.
  double out_rate(Location to) const {
    if (to == Location::kPeer) return machine_.peer_rate;
    return to == Location::kFile ? std::min(machine_.out_rate, machine_.file_write_rate) : machine_.out_rate;
  }
  double in_rate(Location to) const {
    if (to == Location::kPeer) return machine_.peer_rate;
    return to == Location::kFile ? std::min(machine_.in_rate, machine_.file_read_rate) : machine_.in_rate;
  }

  void go_through(std::uint32_t step) {
    ++position_;
    const auto uses = iteration_.uses_of(step);
    waiting_.insert(waiting_.end(), coming_[step].begin(), coming_[step].end());
    fetch_waiting();
    now_ += static_cast<double>(iteration_.steps[step].before.value());
    Time start = now_;
    for (const RunUse& use : uses) busy_.push_back(use.run);
    for (const RunUse& use : uses) {
      RunState& run = runs_[use.run];
      if (use.fresh) {
        run.copied = {};
        run.written_ever = false;
      }
      if (run.missing && !fetch(use.run, now_, true)) result_.possible = false;
      if (run.ready > now_) ++result_.late;
      start = std::max(start, run.ready);
    }
    busy_.clear();
    result_.stall += Nanoseconds(static_cast<std::uint64_t>(start - now_));
    now_ = start + static_cast<double>(iteration_.steps[step].duration.value());
    const std::uint32_t first = iteration_.steps[step].first_use;
    for (std::uint32_t i = first; i < iteration_.steps[step].end_use; ++i) note_use(i);
    for (const std::uint32_t run : frees_[step]) {
      if (!iteration_.runs[run].pinned) leave(run, now_, Location::kHost, kWholeRun, true);
    }
    for (const OffloadInterval* interval : leaving_[step]) {
      leave(interval->gap.run, now_, interval->to, interval->part, interval->gap.dead);
    }
    fetch_waiting();
  }

  // In the order of their triggers; the first one without room blocks the rest.
  void fetch_waiting() {
    while (!waiting_.empty()) {
      const std::uint32_t run = waiting_.front();
      if (runs_[run].missing && !fetch(run, now_, false)) return;
      waiting_.pop_front();
    }
  }

  void note_use(std::uint32_t index) {
    const RunUse& use = iteration_.uses[index];
    RunState& run = runs_[use.run];
    by_next_.erase({run.next, use.run});
    run.next = position_ + distances_[index];
    if (!run.missing) by_next_.insert({run.next, use.run});
    if (use.writes) {
      run.copied = {};
      run.written_ever = true;
    }
  }

  // Evicts `part` bytes of its end unless they already are. A run that is never written has a copy from before.
  void leave(std::uint32_t index, Time from, Location to, Bytes part, bool dead) {
    RunState& run = runs_[index];
    part = std::min(part, iteration_.runs[index].bytes);
    if (part <= run.missing) return;
    const Bytes goes = part - std::exchange(run.missing, part);
    if (part == iteration_.runs[index].bytes) by_next_.erase({run.next, index});
    run.to = to;
    Time gone = std::max(from, run.ready);
    if (!dead && part > run.copied && to != Location::kNowhere) {
      const Bytes bytes = part - std::exchange(run.copied, part);
      if (run.written_ever) {
        Time& free = out_free_[to == Location::kPeer ? 1 : 0];
        gone = free = std::max(free, gone) + copy_time(bytes, out_rate(to));
        result_.out += bytes;
      }
    }
    releases_.push({gone, goes});
  }

  // Bytes that have left by `now` no longer count.
  void let_go(Time now) {
    for (; !releases_.empty() && releases_.top().at <= now; releases_.pop()) used_ -= releases_.top().bytes;
  }

  // When there is room, if ever: first from evictions in flight, then by evicting the farthest next use.
  std::optional<Time> make_room(Bytes bytes, Time from, bool demanded) {
    let_go(from);
    while (used_ + bytes > machine_.device) {
      if (!releases_.empty()) {
        from = std::max(from, releases_.top().at);
        used_ -= releases_.top().bytes;
        releases_.pop();
        continue;
      }
      if (!demanded || !evict_farthest(from)) return std::nullopt;
    }
    return from;
  }

  bool evict_farthest(Time from) {
    for (auto last = by_next_.rbegin(); last != by_next_.rend(); ++last) {
      const std::uint32_t index = last->second;
      if (iteration_.runs[index].pinned) continue;
      if (std::find(busy_.begin(), busy_.end(), index) != busy_.end()) continue;
      leave(index, from, Location::kHost, kWholeRun, false);
      return true;
    }
    return false;
  }

  // Fetches the missing part. Returns false if there is no room.
  bool fetch(std::uint32_t index, Time from, bool demanded) {
    const IterationRun& what = iteration_.runs[index];
    RunState& run = runs_[index];
    const Bytes bytes = run.missing;
    const std::optional<Time> room = make_room(bytes, from, demanded);
    if (!room) return false;
    from = *room;
    used_ += bytes;
    result_.peak = std::max(result_.peak, used_);
    run.missing = {};
    by_next_.insert({run.next, index});
    if (!run.copied) {  // nothing to copy, or recomputed
      run.ready = run.written_ever ? from + static_cast<double>(what.recompute.value()) : from;
      return true;
    }
    Time& free = in_free_[run.to == Location::kPeer ? 1 : 0];
    run.ready = free = std::max(free, from) + copy_time(bytes, in_rate(run.to));
    result_.in += bytes;
    return true;
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const std::vector<std::uint32_t> distances_;
  const std::vector<std::vector<std::uint32_t>> frees_;  // by step
  std::vector<RunState> runs_;
  std::vector<std::vector<const OffloadInterval*>> leaving_;
  std::vector<std::vector<std::uint32_t>> coming_;
  std::deque<std::uint32_t> waiting_;                          // triggered, still without room
  std::vector<std::uint32_t> busy_;                            // used by the current step
  std::set<std::pair<std::uint64_t, std::uint32_t>> by_next_;  // runs with bytes on the device
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
  std::uint64_t position_ = 0;
  Bytes used_;
  Time now_ = 0;
  Time out_free_[2] = {0, 0}, in_free_[2] = {0, 0};  // host links, peer links
  Forecast result_;
};

}  // namespace

bool is_better(const Forecast& a, const Forecast& b) {
  if (a.possible != b.possible) return a.possible;
  if (a.makespan != b.makespan) return a.makespan < b.makespan;
  return a.out + a.in < b.out + b.in;
}

Forecast forecast(const Iteration& iteration, const Machine& machine, const OffloadPlan& plan) {
  return Model(iteration, machine, plan).run();
}

}  // namespace tessera
