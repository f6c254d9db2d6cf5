// The iterations that the program has been seen to repeat, and which of them is followed.
//
// A program may have several: prefill and decode, training and validation. The last few are kept with their plans, so
// that each is followed as soon as the program returns to it. They are ranked: of those that are in sync, the first
// with a plan is the active one. Iterations of about as many launches may have a part in common, as those of several
// sentence lengths have the optimizer's launches; there the program stays in the one that it has followed for longer.
//
// Thread safety: none; the engine's lock.
//
// Bounds: kMost iterations. Where there are too many, the one that the program left longest ago is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "residency/iteration/learned_iteration.hpp"
#include "residency/iteration/scaled_iteration.hpp"

namespace tessera {

class KnownIterations {
 public:
  static constexpr std::size_t kMost = 4;

  // The next launch, and those of its runs that a plan may move.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context, Epoch epoch,
            std::span<const LaunchLog::Use> parts);
  // Launches follow that are not noted.
  void lose_sync();
  void clear();
  // The run is about to be removed.
  void forget(const Run& run);

  // ---- which there are

  // It is ranked behind all others, of which those without a plan are dropped.
  LearnedIteration& add(std::unique_ptr<LearnedIteration> learned);
  // Only the best is kept, or `newest` where none has a plan, and its plan is dropped. Null: there is none.
  LearnedIteration* keep_one(LearnedIteration* newest);
  bool have_plans() const;
  bool have_longer_than(std::size_t launches) const;
  // All are loops inside a sequence of so many launches; the program may stay in them for long.
  bool are_loops_in(std::size_t launches) const;
  // All are shorter than a sequence of so many launches, and whichever the program seems to be in broke off during it:
  // two that differ in a few launches, for one, of which one was learned.
  bool broke_off_in(std::size_t launches) const;

  // ---- which is followed

  // The best that is in sync; null: there is none.
  LearnedIteration* first_in_sync(bool with_plan) const;
  // In sync and with a plan, of these or of passes of several sizes; null: none is followed.
  LearnedIteration* active() const { return active_; }
  // After each launch. True if another one is active now.
  bool choose_active(const ScaledIteration& scaled);
  // It is the best from now on. `rival`: the measured time of an iteration with those that it replaces; 0 = there are
  // none.
  void prefer(LearnedIteration& learned, Nanoseconds rival);
  // It was predicted to be faster than the others and measures slower.
  void demote(LearnedIteration& learned);
  // Its plan is followed from here, whatever its rank. REQUIRES: it gets a plan.
  void set_active(LearnedIteration& learned) { active_ = &learned; }

 private:
  void make_place();
  LearnedIteration* best_in_sync(const ScaledIteration& scaled) const;
  bool stays_active(const LearnedIteration* first) const;
  std::vector<std::unique_ptr<LearnedIteration>>::iterator place_of(const LearnedIteration* learned);

  std::vector<std::unique_ptr<LearnedIteration>> learned_;  // best first
  LearnedIteration* active_ = nullptr;                      // is in sync and has a plan
  bool by_rank_ = false;                                    // the active one is chosen next by rank alone
};

}  // namespace tessera
