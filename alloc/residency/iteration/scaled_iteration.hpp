// An iteration that the program repeats with other sizes: batches of other lengths, images of other sizes.
//
// A launch has a kind: of the runs that a plan may move, how many it uses, writes and uses for the first time. When
// kinds repeat and sizes do not, the iteration is recognised by its kinds. Each pass is recorded with its sizes and
// times. A run that a pass uses early tells its scale; then sizes and times of all that follows are known from other
// passes (planning/scaled_passes.hpp), and a plan is made for them. Until then that of the pass before is followed.
//
// Libraries choose their kernels by size, and share the work of one between two where a sum is long. So the kernel's
// name is not a part of the kind, and a pass is followed even if some launches are missing in it and others come
// between (planning/near_place.hpp). Which layer it is at is told by the weights.
//
// Sizes may also change in more ways than one scale tells, as those of a graph's samples do. As long as the sizes that
// were expected are far off, no plan is made.
//
// A pass begins where the least memory that it allocates is live, because sizes change there.
//
// Thread safety: none; the engine's lock.
//
// Bounds: one iteration, of at most half of what the history keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "planning/near_place.hpp"
#include "planning/period_finder.hpp"
#include "planning/run_roles.hpp"
#include "planning/scaled_passes.hpp"
#include "policy/policy.hpp"
#include "residency/iteration/launch_history.hpp"
#include "residency/iteration/learned_iteration.hpp"
#include "residency/iteration/residency_snapshot.hpp"

namespace tessera {

class ScaledIteration {
 public:
  static constexpr std::size_t kLeast = 64;       // launches of an iteration
  static constexpr std::size_t kTimedPasses = 8;  // passes of different scales that are timed
  // No plan is made while more of the bytes than kMostError were not as expected, in the mean of about kErrorPasses.
  static constexpr double kMostError = 0.1, kErrorAtFirst = 0.25, kErrorPasses = 4;
  // What the plans of so many passes all have away when a pass begins leaves before the size of the next one is known.
  static constexpr std::size_t kAwayPasses = 8;
  // A pass of which more bytes were not seen than this part is not recorded.
  static constexpr double kMostUnseen = 0.125;

  // The last launch of the history; `parts` are those of its runs that a plan may move. `all_runs` are searched for the
  // runs of an iteration that is learned.
  void note(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> parts, const LaunchHistory& history,
            const RunList& all_runs);
  // Launches follow that are not noted.
  void interrupt();
  // Forgets the iteration too.
  void clear();
  // The run is about to be removed.
  void forget(const Run& run);

  bool is_learned() const { return iteration_ != nullptr; }
  bool in_sync() const { return iteration_ != nullptr && iteration_->in_sync(); }
  // The launches of this pass are to be timed.
  bool wants_times() const { return in_sync() && passes_->size() < kTimedPasses; }
  // The scale of this pass is known, and no plan was made for it.
  bool wants_plan() const { return in_sync() && scale_ && !looked_; }
  // Where sizes cannot be expected, or the policy has no plan, there is none. REQUIRES: wants_plan().
  void make_plan(const Policy& policy, const Machine& machine, const LaunchHistory& history);
  // Something else is followed in this pass.
  void drop_plan();
  // In sync and with a plan, else null.
  LearnedIteration* planned() const { return in_sync() && iteration_->has_plan() ? iteration_.get() : nullptr; }
  // In sync, and with the sizes that are expected of this pass, else null.
  const LearnedIteration* sized() const { return looked_ ? known() : nullptr; }
  LearnedIteration* known() const { return in_sync() ? iteration_.get() : nullptr; }
  // Sets the predicted next use of each run of the last launch, as LearnedIteration::predict. REQUIRES: in sync.
  void predict(std::uint64_t launches, Epoch epoch) const { iteration_->predict(in_order_, launches, epoch); }
  // Bytes that stay on the device beside the iteration. REQUIRES: it is learned.
  Bytes pinned_beside(const RunList& all_runs) const {
    return ResidencySnapshot(*iteration_, all_runs).pinned_beside();
  }

 private:
  // Of a launch that is like a step in one respect and not in another; and of one that is none of the steps, without or
  // with memory that tells a step.
  static constexpr NearPlace::Cost kNearly = 1, kOther = 4, kToldOther = 16;

  void follow(const LaunchLog::Launch& launch, std::uint64_t kind, std::span<const LaunchLog::Use> parts,
              const LaunchHistory& history);
  bool goes_on(std::uint64_t kind);
  NearPlace::Cost cost_of(std::uint64_t kind, std::size_t step) const;
  void find(std::uint64_t kind);
  void begin_anew();
  void learn(const LaunchHistory& history, const RunList& all_runs);
  void end_pass(const LaunchHistory& history);
  void record_pass(const LaunchHistory& history);
  void note_error();
  Bytes away_in_all(const OffloadPlan& plan);

  PeriodFinder finder_;
  std::unique_ptr<LearnedIteration> iteration_;
  std::optional<RunRoles> roles_;
  std::optional<NearPlace> near_;  // while it is in sync
  std::optional<ScaledPasses> passes_;
  std::vector<RunRoles::Use> uses_;       // of the current launch
  std::vector<LaunchLog::Use> in_order_;  // the same, by role
  // The current pass:
  std::optional<std::uint64_t> began_;  // the number of its first launch; none if launches were missed
  std::vector<std::uint32_t> steps_;    // by launch since then: the step that the program was at
  std::optional<Bytes> scale_;
  bool looked_ = false;           // for a plan
  double error_ = kErrorAtFirst;  // of the sizes expected in the last few passes, as a part of all bytes
  std::vector<Bytes> away_;       // by plan of the last kAwayPasses passes: what it has away when a pass begins
  // The pass before, until its times are read.
  struct Ended {
    std::uint64_t began = 0;
    std::vector<std::uint32_t> steps;
    std::vector<Bytes> bytes;
    std::vector<bool> seen;
  };
  std::optional<Ended> ended_;
};

}  // namespace tessera
