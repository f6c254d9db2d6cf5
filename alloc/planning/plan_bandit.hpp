// Chooses among candidate strategies by measuring them in the running program.
//
// A candidate's predicted time counts until its measured time is known. The candidate with the shortest time,
// predicted or measured, is followed; if it turns out slower than predicted, the next one that may be faster is
// tried, and the first is resumed if those are no better. A candidate predicted to be faster by a negligible
// amount is not tried. Each is tried once; then the fastest stays, until it becomes slower than measured by a
// fraction 1 / kRegressionTolerance.
//
// If the program followed another strategy before, its measured time is the baseline. The first candidate
// measured against the baseline decides for all of them, because the same simulator predicted the others. A
// candidate that has beaten the baseline is not re-tested: a program that slows down later would do so under
// any strategy.
//
// The first iteration under a strategy is still affected by the previous strategy, so an iteration counts once
// it took about as long as the one before it. For a candidate that does not become steady, or does not stay so,
// the mean of kMany iterations counts; otherwise a strategy that is mostly fast and sometimes slow would be
// judged by two lucky iterations.
//
// Source: optimism in the face of uncertainty, as in bandit algorithms (Lai and Robbins 1985).
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace tessera {

class PlanBandit {
 public:
  static constexpr std::uint64_t kAlike = 100;  // two iterations are alike if they differ by less than 1 / kAlike
  static constexpr std::uint64_t kMany = 8;
  static constexpr std::uint64_t kRegressionTolerance = 50;

  PlanBandit() = default;
  // REQUIRES: `told` is not empty. The first candidate with the shortest predicted time is current.
  explicit PlanBandit(std::span<const Nanoseconds> predicted);

  std::size_t current() const { return current_; }
  // Without alternatives, no iteration times are needed.
  bool is_idle() const { return arms_.size() < 2 && !baseline_; }
  // Sets the measured time of the baseline; 0 = there is none. All candidates may be tried again.
  void set_baseline(Nanoseconds baseline);
  // The measured time if the candidates have lost against the baseline; 0 = they have not.
  Nanoseconds measured_if_worse() const;
  // An iteration took this long, all of it under current(). Returns true if another candidate is current from
  // now on.
  bool note(Nanoseconds took);
  // The program left the iteration, so the next measurement starts anew.
  void interrupt();

 private:
  struct Arm {
    Nanoseconds time;  // predicted, or measured once tried
    bool tried = false;
    // A prediction is not exact, and a trial costs one or two atypical iterations.
    Nanoseconds expected() const { return tried ? time : time + time / kAlike; }
  };
  std::vector<Arm> arms_;
  std::size_t current_ = 0;
  Nanoseconds last_{};  // previous iteration; 0 = none to compare with
  std::uint64_t many_ = 0;
  Nanoseconds took_{};      // the sum of many_ iterations
  Nanoseconds baseline_{};  // the baseline; 0 = none, or it was beaten
};

}  // namespace tessera
