// Reads what was launched, learns the iteration, has the policy plan it, and says what is due.
//
// Between the pure learner (learn/) and the engine that moves pages: it knows runs and epochs, moves
// nothing. A strategy is followed as long as the launches keep to the iteration; at the first that
// does not, orders cease and predictions end, and the policy's decide() is all there is until the
// iteration is found again.
//
// A launch is known by its work and the sizes of its runs, in order, not by their addresses: an
// activation may lie elsewhere in every iteration. Which run plays a part of the plan is seen at each
// use. Runs of one base page, which small blocks share, play no part: they are left to decide(), and
// an iteration tells of them apart.
//
// Thread safety: log(), watches() and times() by any thread; the rest under the engine's lock.
//
// Bounds: iterations of up to kMaxSteps launches are planned.
#pragma once

#include <atomic>
#include <vector>

#include "learn/sequence.hpp"
#include "policy/policy.hpp"
#include "residency/planner.hpp"
#include "residency/launch_history.hpp"
#include "residency/launch_log.hpp"

namespace tessera {

class Conductor {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 16;

  struct Order {
    Run* run = nullptr;
    std::uint64_t used = 0;  // its last use then: not to be carried out after another
    Away to = Away::kHost;   // of who leaves,
    Bytes part = kWholeRun;  // and how much
    std::uint32_t rises = 0;  // pages of who comes that were read from the file for it
  };
  struct Orders {
    std::vector<Order> leave, come;
  };

  // REQUIRES: all of them outlive it, or policy and planner the next set_policy.
  Conductor(Driver& driver, DeviceId device, const Policy& policy, Planner& planner)
      : policy_(&policy), planner_(&planner), watches_(driver, device, kWatches) {}

  LaunchLog& log() { return log_; }
  Stopwatches& watches() { return watches_; }
  // Launches shall be timed now: they repeat, and no strategy is followed at this moment.
  bool times() const { return times_.load(std::memory_order_relaxed); }

  // Something was launched that was not read yet.
  bool has_news() const { return log_.has_news(); }
  // An iteration is known with its durations, and nobody was asked for its plan yet.
  bool wants_plan() { return wanted_ && knows_durations(); }
  void ask_for_plan(const Machine& machine);
  // What was followed, or asked for, is let go. What the launches taught is of the program and stays, so that
  // an iteration whose durations are known wants its plan at once.
  void set_policy(const Policy& policy, Planner& planner);
  // As if the iteration had been learned and the strategy been the answer: it begins with the next
  // launch, whose work, as that of all others, is null.
  void lead(Iteration iteration, const Strategy& strategy);
  // Reads what was launched since the last call; `orders` become due in their order.
  void read(Orders& orders);
  // A strategy is followed at this moment.
  bool leads() const { return leads_; }
  // Who leaves by plan goes before all others (Strategy::strict).
  bool is_strict() const { return leads_ && strict_; }
  // Who is to be asked for what no plan says.
  const Policy& decider() const { return leads_ ? *rest_ : *policy_; }
  // The epoch of the run's next use, if from `now` on only launches make epochs; 0 = not known.
  std::uint64_t next_use(const Run& run, std::uint64_t now) const {
    return run.next > read_ ? now + (run.next - read_) : 0;
  }
  // The run goes away. REQUIRES: no launch announces it any more.
  void forget(const Run& run);

 private:
  static constexpr std::size_t kWatches = 8192;

  struct Leaving {
    std::uint32_t run = 0;  // index into Iteration::runs
    Away to = Away::kHost;
    Bytes part = kWholeRun;
  };
  struct Due {
    std::vector<Leaving> leave;
    std::vector<std::uint32_t> come;  // likewise
  };

  void read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                   Orders& orders);
  void keep_watch(Stopwatches::Watch watch, std::optional<std::size_t> position);
  void trim_history();
  void adopt_iteration();
  void adopt(const Strategy& strategy);
  void note_when_due();
  bool knows_durations();
  void follow(std::size_t position, std::uint64_t epoch, std::span<const LaunchLog::Use> uses,
              Orders& orders);
  void lose_way();

  const Policy* policy_;
  Planner* planner_;
  Stopwatches watches_;
  LaunchLog log_;
  std::atomic<bool> times_{false};

  SequenceLearner sequence_;
  LaunchHistory history_;
  LaunchLog::Batch batch_;

  Iteration iteration_;                        // without steps: none that could be planned
  std::vector<Order> runs_;                    // of the iteration, as last seen; null when gone
  std::vector<std::optional<Stopwatches::Watch>> unread_;  // by step
  std::size_t waited_ = 0;                     // launches since the iteration was adopted
  bool wanted_ = false;                        // a plan, as soon as the durations are known
  bool asked_ = false;                         // the planner, who has not answered yet
  std::vector<std::uint32_t> distances_;       // by use of the iteration
  std::vector<Due> due_;                       // by step; empty = no plan
  std::vector<std::uint32_t> until_due_;       // by step: launches until something is due; 0 = never
  std::size_t position_ = 0;                   // of the last launch that was followed
  const Policy* rest_ = nullptr;               // of the strategy,
  bool strict_ = false;                        // likewise
  bool leads_ = false;
  std::uint64_t read_ = 0;  // launches, ever: a clock that fences do not advance, as they do epochs
};

}  // namespace tessera
