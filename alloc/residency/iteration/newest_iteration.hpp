// The iteration that was learned last, on its way to a plan: its durations, the request to the planner, and whether the
// plan is faster than what the program follows without it.
//
// If nothing was followed before, the plan need not be faster. Otherwise what was followed may be a loop in the new
// iteration, or the new one may be two of the old plus an interruption. It comes first when its plan is predicted to be
// faster than the program was; else when it measures as fast.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planning/iteration.hpp"
#include "policy/policy.hpp"
#include "residency/iteration/launch_history.hpp"
#include "residency/iteration/learned_iteration.hpp"
#include "residency/iteration/planner.hpp"

namespace tessera {

class NewestIteration {
 public:
  // It has just been learned, and wants a plan. Its first launch has this number in the history, and the program took
  // so long for it. REQUIRES: it outlives this, or another one takes its place, or clear().
  void begin(LearnedIteration& learned, std::uint64_t first_launch, Nanoseconds took);
  // It has a plan.
  void set_planned(LearnedIteration& learned);
  // It wants another plan.
  void plan_again(LearnedIteration& learned);
  void clear() { *this = NewestIteration(); }

  // Null: there is none.
  LearnedIteration* learned() const { return learned_; }
  std::size_t size() const { return learned_ == nullptr ? 0 : learned_->iteration().steps.size(); }

  // ---- its plan

  // It wants one, once its durations are known.
  bool wants_plan() const { return wanted_; }
  // The first launch that is needed for that, else `next`.
  std::uint64_t needed_from(std::uint64_t next) const { return wanted_ ? first_launch_ : next; }
  // One of its launches while memory is short.
  void count_launch();
  // All but a few durations have to be known, or after one more iteration those that there are; the rest are set to the
  // mean. Checked a few times per iteration. In a short loop none is known until the device has executed it. REQUIRES:
  // wants_plan().
  bool learn_durations(const LaunchHistory& history);
  // The planner is asked for this machine, and may answer more than once.
  void set_asked(const Machine& machine);
  bool is_asked() const { return asked_; }
  // The answer. `is_only_one`: nothing has a plan. True if it is to come first. REQUIRES: candidates, best first.
  bool take(std::vector<Candidate> candidates, bool is_only_one);

  // ---- whether it is as fast as what is followed

  // How long the program took for it when it was learned.
  Nanoseconds took() const { return took_; }
  // It has a plan and does not come first, but may: checked whenever it begins again, because what is active may only
  // now have reached its steady time. `read`: launches read.
  bool is_as_fast(const LaunchHistory& history, std::uint64_t read) const;
  void set_first() { own_time_ = {}; }
  // It came first and takes `time`. The others may have run with an emptier device before, so it is compared again by
  // its own measured time, without counting a tie.
  void set_slower(Nanoseconds time, std::uint64_t read);

 private:
  static constexpr std::size_t kLooks = 16;   // looks for durations per iteration,
  static constexpr std::size_t kFew = 64;     // of which 1/kFew may be unknown
  static constexpr std::uint64_t kTie = 32;   // times within 1/kTie count as equal
  static constexpr std::size_t kSettled = 2;  // iterations: the first is still affected by the strategy before

  LearnedIteration* learned_ = nullptr;
  Nanoseconds took_{};
  std::uint64_t first_launch_ = 0;
  std::size_t waited_ = 0;   // its launches since then while memory was short,
  std::size_t look_at_ = 0;  // and the count at which durations are looked at next
  bool wanted_ = false;      // a plan
  bool asked_ = false;       // the planner, about this machine
  Machine machine_;
  Nanoseconds own_time_{};           // predicted or measured, while it does not come first; 0 = it does
  std::uint64_t compared_from_ = 0;  // launches read
};

}  // namespace tessera
