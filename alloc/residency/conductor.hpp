// Reads what was launched, learns the iteration, has the policy plan it, and says what is due.
//
// Of several strategies each is followed until the program shows which is the fastest (learn/trial.hpp).
//
// Between the pure learner (learn/) and the engine that moves pages: it knows runs and epochs, moves
// nothing. A strategy is followed as long as the launches keep to the iteration; at the first that
// does not, orders cease and predictions end, and the policy's decide() is all there is until the
// iteration is found again.
//
// A launch is known by its work and the sizes of its runs, in order, not by their addresses: an
// activation may lie elsewhere in every iteration. Which run plays a part of the plan is seen at each
// use; that is known of an iteration as soon as it is learned, so what its plan has away at the moment
// at which it is found leaves then. Runs of one base page, which small blocks share, play no part: they
// are left to decide(), and an iteration tells of them apart.
//
// Thread safety: log(), watches() and times() by any thread; the rest under the engine's lock.
//
// Launches are noted from the first on, so that an iteration in which memory gets short is known from its
// beginning; of a program that has launched kMaxSteps and is not short, no more until it is.
//
// Bounds: iterations of up to kMaxSteps launches are planned.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "learn/sequence.hpp"
#include "learn/trial.hpp"
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

  using Runs = std::vector<std::unique_ptr<Run>>;

  // REQUIRES: all of them outlive it, or policy and planner the next set_policy; `runs` are all there are, under
  // the engine's lock.
  Conductor(Driver& driver, DeviceId device, const Policy& policy, Planner& planner, const Runs& runs)
      : policy_(&policy), planner_(&planner), all_runs_(runs), watches_(driver, device, kWatches),
        history_(watches_) {
    log_.switch_on_for(kMaxSteps);
    log_.look_from(kIdleLook);
  }

  LaunchLog& log() { return log_; }
  Stopwatches& watches() { return watches_; }
  // Launches shall be timed now: they repeat, and no strategy is followed at this moment.
  bool times() const { return times_.load(std::memory_order_relaxed); }

  // Not all blocks fit into the device any more.
  void note_shortage();
  // Nothing is noted until they do not.
  void rest() { log_.switch_off(); }

  // Something was launched that was not read yet.
  bool has_news() const { return log_.has_news(); }
  // An iteration is known with its durations, and nobody was asked for its plan yet.
  bool wants_plan() { return short_ && wanted_ && learns_durations(); }
  void ask_for_plan(const Machine& machine);
  // What was followed, or asked for, is let go. What the launches taught is of the program and stays, so that
  // an iteration whose durations are known wants its plan at once.
  void set_policy(const Policy& policy, Planner& planner);
  // As if the iteration had been learned and the strategy been the answer, behind Iteration::stands_at or the last of
  // its launches, whose work is null. Its runs are played by `players`, null where it is not known yet.
  void lead(Iteration iteration, const Strategy& strategy, std::span<Run* const> players, Orders& orders);
  // Reads what was launched since the last call, at this time; `orders` become due in their order.
  void read(Orders& orders, Nanoseconds now);
  // A strategy is followed at this moment.
  bool leads() const { return position_ && !due_.empty(); }
  // Who leaves by plan goes before all others (Strategy::strict).
  bool is_strict() const { return leads() && strict_; }
  // Who is to be asked for what no plan says.
  const Policy& decider() const { return leads() ? *rest_ : *policy_; }
  // The epoch of the run's next use, if from `now` on only launches make epochs; 0 = not known.
  std::uint64_t next_use(const Run& run, std::uint64_t now) const {
    return run.next > read_ ? now + (run.next - read_) : 0;
  }
  // The run goes away. REQUIRES: no launch announces it any more.
  void forget(const Run& run);

 private:
  static constexpr std::size_t kWatches = 8192;
  static constexpr std::size_t kIdleLook = 4096;  // launches, while memory is not short
  static constexpr std::size_t kLooks = 16;  // in an iteration, for durations

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
                   Orders& orders, Nanoseconds now);
  void trim_history();
  Iteration as_it_stands() const;  // standing.cpp
  void adopt_iteration();
  void find_runs();
  void adopt(const Strategy& strategy);
  void adopt_now(const Strategy& strategy, Orders& orders);
  void foresee(std::size_t last);
  void begin_pass(Orders& orders, Nanoseconds now);
  void note_when_due();
  bool learns_durations();
  void catch_up(const AbsencePlan& plan, Orders& orders) const;
  void follow(std::size_t position, std::uint64_t epoch, std::span<const LaunchLog::Use> uses,
              Orders& orders);
  void lose_way();

  const Policy* policy_;
  Planner* planner_;
  const Runs& all_runs_;
  Stopwatches watches_;
  LaunchLog log_;
  std::atomic<bool> times_{false};
  std::size_t untimely_ = 0;  // launches that were timed, and did not repeat

  bool short_ = false;  // of memory, now or before

  SequenceLearner sequence_;
  LaunchHistory history_;
  LaunchLog::Batch batch_;

  Iteration iteration_;                        // without steps: none that could be planned
  std::vector<Order> runs_;                    // of the iteration, as last seen; null when gone
  std::uint64_t began_ = 0;                    // its first launch, by the history's numbers
  std::size_t waited_ = 0;                     // launches since the iteration was adopted and memory short,
  std::size_t look_at_ = 0;                    // and with so many durations are looked at
  bool wanted_ = false;                        // a plan, as soon as the durations are known
  bool asked_ = false;                         // the planner, who may have a better answer yet
  std::vector<std::uint32_t> distances_;       // by use of the iteration
  std::vector<Due> due_;                       // by step; empty = no plan
  std::vector<std::uint32_t> until_due_;       // by step: launches until something is due; 0 = never
  std::optional<std::size_t> position_;        // of the last launch, if it keeps to the iteration
  std::vector<Told> told_;                     // the planner's answer
  Trial trial_;                                // of them
  std::optional<Nanoseconds> pass_began_;      // under the strategy of now; none if in the middle
  const Policy* rest_ = nullptr;               // of the strategy,
  bool strict_ = false;                        // likewise
  std::uint64_t read_ = 0;  // launches, ever: a clock that fences do not advance, as they do epochs
};

}  // namespace tessera
