// A learned iteration that the program is in: the position, the run that fills each role at the moment, and the active
// strategy, if there is one.
//
// The run in a role is updated at each use. Runs that a plan wants away when it is activated, or when the position is
// found again, are evicted then.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "planning/period_place.hpp"
#include "planning/plan_bandit.hpp"
#include "planning/scaled_passes.hpp"
#include "residency/iteration/launch_log.hpp"
#include "residency/iteration/planner.hpp"
#include "residency/pages/run.hpp"

namespace tessera {

class LearnedIteration {
 public:
  struct Order {
    Run* run = nullptr;
    Epoch used{};                   // its last use when the order was made; void after a newer one
    Location to = Location::kHost;  // for an eviction: the target,
    Bytes part = kWholeRun;         // and how much is evicted
    std::uint32_t loads = 0;        // for a fetch: pages that were read from the file for it
    Epoch decided{};  // for an eviction: all work up to this epoch has to be over; never = not decided yet

    // The bytes of the run that stay on the device.
    Bytes stays() const {
      const Bytes whole = run->shape.bytes();
      return whole - std::min(part, whole);
    }
  };
  struct Orders {
    std::vector<Order> evict, fetch;
  };

  // The program is behind step `place`. `runs` fill the roles of the iteration's runs; null for a run that is gone or
  // not known yet.
  LearnedIteration(Iteration iteration, std::vector<std::uint64_t> signatures, std::vector<Order> runs,
                   std::size_t place);

  const Iteration& iteration() const { return iteration_; }
  // The bytes of all its runs.
  Bytes run_bytes() const { return run_bytes_; }
  // By run of the iteration, as last seen.
  const std::vector<Order>& players() const { return runs_; }
  // By step; `before` as IterationStep::before.
  void set_durations(std::span<const Nanoseconds> durations, std::span<const Nanoseconds> before);

  // This pass has other sizes and times, and the next one may have others again.
  void resize(const ScaledPass& pass);
  // Of what a plan has away when a pass begins, so many bytes are evicted at once, and the rest when the size of the
  // next pass is known: by catch_up(). From the next strategy on.
  void set_sure(Bytes bytes);

  // ---- position

  // The next launch, and those of its runs that a plan may move.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context, Epoch epoch,
            std::span<const LaunchLog::Use> uses);
  // The same for an iteration whose sizes vary, as its owner sees them. The next launch is so many steps further on; 0:
  // it is none of the iteration's. REQUIRES: a position.
  void move_on(std::size_t steps);
  // The position is the latest step with this context for which `is_right(step)` holds, if there is one.
  template <class IsRight>
  void find(std::optional<std::uint64_t> context, IsRight is_right);
  // What the launch of a step uses, in the order of the iteration's uses; no run where that is not known.
  void take(std::size_t step, Epoch epoch, std::span<const LaunchLog::Use> uses);
  // The step of the last launch, if the launches follow the iteration.
  std::optional<std::size_t> place() const { return place_.position(); }
  bool in_sync() const { return place().has_value(); }
  // The epoch of the last launch that matched; never = none since it was learned.
  Epoch last_known() const { return last_known_; }
  // Has matched for so long without a break that it is not a coincidence.
  bool is_regular() const { return kept_ >= kRegular * iteration_.steps.size(); }
  std::uint64_t signature_of(std::size_t step) const { return place_.signatures()[step]; }
  // Launches that have matched in a row.
  std::size_t kept() const { return kept_; }
  void lose_sync();
  // Sets the predicted next use of each run of the last launch, of which the number and the epoch are given.
  void predict(std::span<const LaunchLog::Use> uses, std::uint64_t launches, Epoch epoch) const;
  // The same for all runs of the iteration. REQUIRES: a position.
  void foresee(std::uint64_t launches) const;
  // Withdraws the predictions of both.
  void end_predictions() const;
  // The run is about to be removed.
  void forget(const Run& run);

  // ---- strategy

  bool has_plan() const { return !due_.empty(); }
  // The planner's answer, and the machine it is for.
  void set_candidates(std::vector<Candidate> candidates, const Machine& machine);
  void drop_strategies();
  // `rival`: how long the program took before; 0 = there is nothing to compare with. REQUIRES: a plan.
  void set_baseline(Nanoseconds rival);
  // How long this plan takes, if that is longer than the rival; 0 = it is not, or not known yet.
  Nanoseconds measured_if_worse() const { return bandit_.measured_if_worse(); }
  // Appends the moves that are due with the last launch. `takes_over`: this plan was not active before. REQUIRES: a
  // plan and a position.
  void collect_due(Orders& orders, Nanoseconds now, bool takes_over);
  // Evicts what the plan has away at this position. REQUIRES: a plan.
  void catch_up(Orders& orders) const;
  // The plan is no longer active.
  void deactivate();
  // Whether any other that is in sync becomes active instead: its plan was measured to be slower.
  bool gives_way() const { return gives_way_; }
  void set_gives_way(bool gives_way) { gives_way_ = gives_way; }
  // Launches from here until something is due; 0 = never. REQUIRES: a plan and a position.
  std::uint32_t until_due() const { return until_due_[*place()]; }
  // The strategy's fallback policy, and whether the runs that its plan evicts go before all others.
  const Policy* fallback() const { return current().fallback; }
  bool is_strict() const { return current().strict; }
  // The plan contains moves.
  bool moves() const { return !current().plan.empty(); }

 private:
  static constexpr std::size_t kRegular = 2;  // iterations in a row

  struct DueEviction {
    std::uint32_t run = 0;  // index into Iteration::runs
    Location to = Location::kHost;
    Bytes part = kWholeRun;
  };
  struct Due {
    std::vector<DueEviction> evict;
    std::vector<std::uint32_t> fetch;  // also indices
  };

  std::optional<std::uint32_t> same_memory(std::size_t place, std::span<const LaunchLog::Use> uses) const;
  void sum_runs();
  const Strategy& current() const { return candidates_[bandit_.current()].strategy; }
  void foresee(const RunUse& use, const Order& player, std::uint64_t next) const;
  void adopt();
  void note_when_due();

  Iteration iteration_;
  Bytes run_bytes_;
  PeriodPlace place_;
  Epoch last_known_;
  std::size_t kept_ = 0;   // launches without a mismatch
  std::size_t moved_ = 0;  // steps, by the last launch
  bool gives_way_ = false;
  Bytes sure_ = kWholeRun;                 // set_sure()
  std::vector<Order> runs_;                // as last seen; null when gone
  std::vector<bool> named_;                // by the same: launches were seen to name such a run (named_uses.hpp)
  std::vector<std::uint32_t> distances_;   // by use of the iteration: steps until the next use
  std::vector<Candidate> candidates_;      // the planner's answer
  Machine machine_;                        // the machine that they were predicted for
  PlanBandit bandit_;                      // picks among them
  std::vector<Due> due_;                   // by step; empty = no plan
  std::vector<std::uint32_t> until_due_;   // by step
  std::optional<Nanoseconds> pass_began_;  // under the current strategy; none in the middle of a pass
};

template <class IsRight>
void LearnedIteration::find(std::optional<std::uint64_t> context, IsRight is_right) {
  place_.find(context, is_right);
  if (!in_sync()) return lose_sync();
  kept_ = 0;
  moved_ = 1;
}

}  // namespace tessera
