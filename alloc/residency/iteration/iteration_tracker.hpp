// Reads the launches, learns the iteration, has the policy plan it, and reports which moves are due.
//
// Where a plan has several candidate strategies, they are measured in the program until the fastest is known
// (planning/plan_bandit.hpp).
//
// Sits between the pure functions of planning/ and the engine that moves pages: it knows runs and epochs but moves
// nothing. A strategy is followed as long as the launches keep to the iteration (learned_iteration.hpp). At the first
// launch that does not, orders and predictions end, and the policy's decide() alone chooses until the iteration is
// found again.
//
// A launch is identified by its work and the sizes of its runs, in order, not by their addresses: an activation may
// have another address in every iteration. Runs of one base page, which small blocks share, are not matched: they are
// left to decide(), and an iteration lists them separately.
//
// A program may have several iterations (known_iterations.hpp). Regular interruptions form a longer iteration out of
// several; so do loops. The longer one is preferred to its parts once its predicted time is no longer than what the
// program takes with them (newest_iteration.hpp), and demoted behind them while it measures slower.
//
// Where launches repeat but their sizes do not, a plan is made for each pass when its sizes are known
// (scaled_iteration.hpp).
//
// Thread safety: log(), watches(), times(), is_short() and sizes_vary() by any thread; the rest under the engine's
// lock.
//
// Launches are logged from the first on, so that an iteration in which memory gets short is known from its beginning. A
// program that has launched kMaxSteps without a shortage is not logged further until it has one.
//
// Bounds: iterations of up to kMaxSteps launches and half of LaunchHistory::kMostUses are planned.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/epoch.hpp"
#include "planning/period_finder.hpp"
#include "policy/policy.hpp"
#include "residency/iteration/known_iterations.hpp"
#include "residency/iteration/launch_history.hpp"
#include "residency/iteration/launch_log.hpp"
#include "residency/iteration/learned_iteration.hpp"
#include "residency/iteration/newest_iteration.hpp"
#include "residency/iteration/planner.hpp"
#include "residency/iteration/rule_choice.hpp"
#include "residency/iteration/scaled_iteration.hpp"

namespace tessera {

class IterationTracker {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 16;

  using Order = LearnedIteration::Order;
  using Orders = LearnedIteration::Orders;

  // REQUIRES: all arguments outlive it, policy and planner at least until the next set_policy; `runs` is the list of
  // all runs, under the engine's lock.
  IterationTracker(Driver& driver, DeviceId device, const Policy& policy, Planner& planner, const RunList& runs,
                   ClassOfTag class_of_tag = {})
      : policy_(&policy),
        planner_(&planner),
        all_runs_(runs),
        class_of_tag_(std::move(class_of_tag)),
        watches_(driver, device, kWatches),
        history_(watches_) {
    rules_.set_rules(policy.rules());
    log_.switch_on_for(kMaxSteps);
    log_.look_from(kIdleLook);
  }

  LaunchLog& log() { return log_; }
  Stopwatches& watches() { return watches_; }
  // Launches are to be timed now: they repeat, and no strategy is active.
  bool times() const { return times_.load(std::memory_order_relaxed); }

  // Not all blocks fit into the device any more.
  void note_shortage();
  // Blocks like these will share runs from now on: launches that were read count as if they had done so before.
  // REQUIRES: in allocation order.
  void note_moved(std::span<const MovedBlock> moved);
  bool is_short() const { return short_.load(std::memory_order_relaxed); }
  // Launches repeat with other sizes, and no sequence of them has repeated with the same ones for long.
  bool sizes_vary() const { return sizes_vary_.load(std::memory_order_relaxed); }
  // Over all launches that were read: the most bytes, and the most blocks with a run of their own, that one launch
  // used.
  struct Extent {
    Bytes bytes;
    std::size_t blocks = 0;
  };
  Extent largest_launch() const { return largest_; }
  // Stops logging until memory is short.
  void stop_logging() { log_.switch_off(); }

  // There are launches that have not been read yet.
  bool has_news() const { return log_.has_news(); }
  // An iteration is known with its durations, and no plan for it was requested yet.
  bool wants_plan() { return short_ && newest_.wants_plan() && newest_.learn_durations(history_); }
  void ask_for_plan(Machine machine);
  // Drops the active strategy and any request. What was learned from the launches describes the program and is kept, so
  // an iteration with known durations gets a new plan at once.
  void set_policy(const Policy& policy, Planner& planner);
  // Acts as if the iteration had been learned and `strategy` were the planner's answer for this machine. The program is
  // behind Iteration::last_step, or behind the last launch, the work of which is null. `players` are the runs that fill
  // the iteration's roles; null where not known yet.
  void activate_plan(Iteration iteration, const Strategy& strategy, const Machine& machine,
                     std::span<Run* const> players, Orders& orders);
  // Reads the launches since the last call, at time `now`; appends the moves that become due to `orders`, in order.
  void read(Orders& orders, Nanoseconds now);
  // A strategy is active.
  bool has_active_plan() const { return known_.active() != nullptr; }
  // Runs that the plan evicts go before all others (Strategy::strict).
  bool is_strict() const { return has_active_plan() && known_.active()->is_strict(); }
  // The active plan contains moves.
  bool moves() const { return has_active_plan() && known_.active()->moves(); }
  // The policy that decides what the plan leaves open, ...
  const Policy& decider() const { return has_active_plan() ? *known_.active()->fallback() : *policy_; }
  // ... and the same for device memory, where without a plan several rules compete.
  const Policy& device_decider() const {
    const Policy* const rule = has_active_plan() ? nullptr : rules_.best();
    return rule != nullptr ? *rule : decider();
  }
  // The rules compete, or plans are made for passes of other sizes, on a device of an unknown or outdated size.
  bool wants_machine() const {
    if (!has_news() || read_ < machine_until_) return false;
    return scaled_.is_learned() || (!rules_.is_idle() && !has_active_plan());
  }
  void set_machine(const Machine& machine);
  // The epoch of the run's next use, if only launches advance the epoch from `now` on; never = not known.
  Epoch next_use(const Run& run, Epoch now) const {
    return run.uses.next > read_ ? now + (run.uses.next - read_) : Epoch();
  }
  // The run is about to be removed. REQUIRES: no launch announces it any more.
  void forget(const Run& run);

 private:
  static constexpr std::size_t kWatches = 8192;
  static constexpr std::size_t kIdleLook = 4096;       // launches between reads while memory is not short
  static constexpr std::uint64_t kInterlude = 256;     // launches under a plan after which the rules no longer compete
  static constexpr std::uint64_t kMachineLook = 1024;  // launches between looks at the machine for the rules
  static constexpr std::size_t kSeldom = 16;           // launches between searches for loops of a few launches
  static constexpr std::size_t kSure = 16;             // launches in the same memory before a loop of a few is learned
  static constexpr std::size_t kLongRepeated = 8;  // iterations in a row, after which sizes are not expected to vary

  void read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses, Orders& orders,
                   Nanoseconds now);
  void let_rules_compete(const LaunchLog::Launch& launch, std::uint64_t signature,
                         std::span<const LaunchLog::Use> parts);
  void note_extent(std::span<const LaunchLog::Use> uses);
  void lose_sync();
  bool is_longer_than_all() const;
  void learn_iteration();
  std::vector<Order> players(const Iteration& iteration) const;
  void take_answer(Orders& orders);
  bool follow_scale(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> parts);
  void prefer_newest(Nanoseconds took);
  void demote(LearnedIteration& learned);

  const Policy* policy_;
  Planner* planner_;
  const RunList& all_runs_;
  const ClassOfTag class_of_tag_;
  Stopwatches watches_;
  LaunchLog log_;
  std::atomic<bool> times_{false};
  std::size_t untimely_ = 0;  // launches that were timed and did not repeat

  std::atomic<bool> short_{false};  // of memory, now or before
  std::atomic<bool> sizes_vary_{false};

  PeriodFinder finder_;
  LaunchHistory history_;
  LaunchLog::Batch batch_;
  RuleChoice rules_;
  ScaledIteration scaled_;
  Machine scaled_machine_;           // for plans of passes of other sizes
  std::uint64_t planned_ = 0;        // launches in a row with an active plan
  std::uint64_t machine_until_ = 0;  // launches read when the rules look at the machine again

  KnownIterations known_;
  NewestIteration newest_;        // of these
  std::uint64_t learn_from_ = 0;  // launches read when another may be learned
  Extent largest_;
  std::uint64_t read_ = 0;  // launches ever read: unlike epochs, not advanced by fences
};

}  // namespace tessera
