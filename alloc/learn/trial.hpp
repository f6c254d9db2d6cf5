// Which of several strategies to follow, when each was told to take some time and shows only in use what it takes.
//
// A told time is believed until the program has taken another: the shortest of told and taken times is followed, so a
// strategy that takes longer than it was told gives way to the next that may be faster, and is come back to when those
// turn out to be no better. One that was told to be faster by next to nothing is not tried. Each is tried once; then
// the fastest stays, until it takes longer than that by a part of kWorse.
//
// Where the program did something else before, it is known what that took, and they compete with it: the first that is
// tried wins or loses for all, as the others were told by who was wrong of him. Who has won need not again: a program that
// gets slower later would be with anything.
//
// The first iteration under a strategy still has to do with the one before, so an iteration counts when it took about as
// long as the last one. Of a strategy that does not come to rest, or does not stay there, the mean of kMany counts: one
// that is fast most of the time and slow now and then would be believed after two lucky ones.
//
// Source: optimism in the face of uncertainty, as bandit algorithms have it (Lai and Robbins 1985).
//
// Thread safety: none; its owner's lock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace tessera {

class Trial {
 public:
  static constexpr std::uint64_t kAlike = 100;  // two iterations that differ by less than this part
  static constexpr std::uint64_t kMany = 8;
  static constexpr std::uint64_t kWorse = 50;

  Trial() = default;
  // REQUIRES: `told` is not empty. The first of the shortest is current.
  explicit Trial(std::span<const Nanoseconds> told);

  std::size_t current() const { return current_; }
  // There is nobody to choose from, so nobody needs to know how long iterations take.
  bool is_idle() const { return candidates_.size() < 2 && !rival_; }
  // What the program did before took so long; 0 = it did nothing. Whoever was tried by now is tried anew.
  void compete_with(Nanoseconds rival);
  // What it takes, if it has lost; 0 = it has not.
  Nanoseconds lost_with() const;
  // An iteration took so long, all of it under current(). True: another is current from now on.
  bool note(Nanoseconds took);
  // The program left the iteration, so what comes next begins anew.
  void interrupt();

 private:
  struct Candidate {
    Nanoseconds time;  // told, or taken
    bool tried = false;
    // A told time is not exact, and to try it costs an iteration or two that are like neither.
    Nanoseconds expected() const { return tried ? time : time + time / kAlike; }
  };
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  Nanoseconds last_{};  // iteration; 0 = none to compare with
  std::uint64_t many_ = 0;
  Nanoseconds took_{};  // so many together
  Nanoseconds rival_{};  // 0 = none, or he has lost
};

}  // namespace tessera
