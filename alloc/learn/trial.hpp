// Which of several strategies to follow, when each was told to take some time and shows only in use what it takes.
//
// A told time is believed until the program has taken another: the shortest of told and taken times is followed, so a
// strategy that takes longer than it was told gives way to the next that may be faster, and is come back to when those
// turn out to be no better. Each is tried once; then the fastest stays.
//
// The first iteration under a strategy still has to do with the one before, so an iteration counts when it took about as
// long as the last one, or after kMostUnlike of them.
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
  static constexpr int kMostUnlike = 4;

  Trial() = default;
  // REQUIRES: `told` is not empty. The first of the shortest is current.
  explicit Trial(std::span<const Nanoseconds> told);

  std::size_t current() const { return current_; }
  // An iteration took so long, all of it under current(). True: another is current from now on.
  bool note(Nanoseconds took);
  // The program left the iteration, so what comes next begins anew.
  void interrupt();

 private:
  struct Candidate {
    Nanoseconds time;  // told, or taken
    bool tried = false;
  };
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  Nanoseconds last_{};  // iteration; 0 = none to compare with
  int unlike_ = 0;
};

}  // namespace tessera
