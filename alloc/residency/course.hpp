// A learned iteration that the program goes through: where in it the program is, which run plays
// which part at this moment, and the strategy that is followed, if there is one.
//
// Which run plays a part is seen at each use; what a plan has away at the moment at which it is
// taken up, or the place is found again, leaves then.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learn/period_place.hpp"
#include "learn/trial.hpp"
#include "residency/launch_log.hpp"
#include "residency/planner.hpp"
#include "residency/run.hpp"

namespace tessera {

class Course {
 public:
  struct Order {
    Run* run = nullptr;
    std::uint64_t used = 0;   // its last use then: not to be carried out after another
    Away to = Away::kHost;    // of who leaves,
    Bytes part = kWholeRun;   // and how much
    std::uint32_t rises = 0;  // pages of who comes that were read from the file for it
    std::uint64_t decided = 0;  // of a run that leaves: all work up to this epoch is over before; 0 = not decided yet

    // What is left of the run on the device.
    Bytes stays() const {
      const Bytes whole = run->shape.bytes();
      return whole - std::min(part, whole);
    }
  };
  struct Orders {
    std::vector<Order> leave, come;
  };

  // The program stands behind step `place`. `runs` play its parts; null for one that has gone, or is
  // not known yet.
  Course(Iteration iteration, std::vector<std::uint64_t> signatures, std::vector<Order> runs, std::size_t place);

  const Iteration& iteration() const { return iteration_; }
  // By run of the iteration, as last seen.
  const std::vector<Order>& players() const { return runs_; }
  void set_durations(std::span<const Nanoseconds> by_step);

  // ---- the program's way

  // The next launch, and its runs that a plan may move.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context, std::uint64_t epoch,
            std::span<const LaunchLog::Use> uses);
  // Of the last launch, if it keeps to the iteration.
  std::optional<std::size_t> place() const { return place_.position(); }
  bool knows_place() const { return place().has_value(); }
  // The epoch of the last launch that kept to it; 0 = none since it was learned.
  std::uint64_t last_known() const { return last_known_; }
  // It has kept to the iteration so often in a row that it is no matter of chance.
  bool is_regular() const { return kept_ >= kRegular * iteration_.steps.size(); }
  void lose_place();
  // Each run of the last launch knows when it is used next, if `launches` is the number of that
  // launch.
  void predict(std::span<const LaunchLog::Use> uses, std::uint64_t launches) const;
  // Likewise, of all its runs. REQUIRES: a place.
  void foresee(std::uint64_t launches) const;
  // Of what these two said nothing holds.
  void end_predictions() const;
  // The run goes away.
  void forget(const Run& run);

  // ---- the strategy

  bool has_plan() const { return !due_.empty(); }
  // The planner's answer, and for what machine.
  void take_up(std::vector<Told> told, const Machine& machine);
  void drop_strategies();
  // What the program did before took so long; 0 = it did nothing. REQUIRES: a plan.
  void compete_with(Nanoseconds rival);
  // What this plan takes, if that is longer; 0 = it is not, or nobody knows yet.
  Nanoseconds lost_with() const { return trial_.lost_with(); }
  // What is due with the last launch. `takes_over`: the plan was not followed before. REQUIRES: a
  // plan, and a place.
  void tell_due(Orders& orders, Nanoseconds now, bool takes_over);
  // What the plan has away at this moment leaves. REQUIRES: a plan.
  void catch_up(Orders& orders) const;
  // The plan is not followed at this moment.
  void step_down();
  // From here on, launches until something is due; 0 = never. REQUIRES: a plan, and a place.
  std::uint32_t until_due() const { return until_due_[*place()]; }
  // Of the strategy: who is asked for what it leaves open, and whether those whom it sends go
  // before all others.
  const Policy* rest() const { return current().rest; }
  bool is_strict() const { return current().strict; }
  // It leaves not all open.
  bool moves() const { return !current().plan.empty(); }

 private:
  static constexpr std::size_t kRegular = 2;  // iterations in a row

  struct Leaving {
    std::uint32_t run = 0;  // index into Iteration::runs
    Away to = Away::kHost;
    Bytes part = kWholeRun;
  };
  struct Due {
    std::vector<Leaving> leave;
    std::vector<std::uint32_t> come;  // likewise
  };

  const Strategy& current() const { return told_[trial_.current()].strategy; }
  void adopt();
  void note_when_due();

  Iteration iteration_;
  PeriodPlace place_;
  std::uint64_t last_known_ = 0;
  std::size_t kept_ = 0;                   // launches in a row
  std::vector<Order> runs_;                // as last seen; null when gone
  std::vector<std::uint32_t> distances_;   // by use of the iteration
  std::vector<Told> told_;                 // the planner's answer
  Machine machine_;                        // for which they were told
  Trial trial_;                            // of them
  std::vector<Due> due_;                   // by step; empty = no plan
  std::vector<std::uint32_t> until_due_;   // by step
  std::optional<Nanoseconds> pass_began_;  // under the strategy of now; none if in the middle
};

}  // namespace tessera
