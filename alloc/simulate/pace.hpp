// Limits a background thread to its share of a processor.
//
// Under a quota (base/available_processors.hpp) every cycle of the search is taken from the program's own threads: at
// half a processor a search at full speed halves the program, and one that has a quarter of it still takes a fifth of the program's
// speed. So a thread rests behind each piece of work, as long as its share asks.
//
// Thread safety: a Turn belongs to its thread; a Pace may be shared.
#pragma once

#include <atomic>
#include <chrono>

namespace tessera {

class Pace {
 public:
  // A quarter of the processors, for `threads` of them together, but a thirty-second part where that would leave less than one to
  // the program; all of one where there are four or more for each.
  static double share_of(double processors, std::size_t threads);

  // `share` of one processor, above 0; 1 never sleeps. `stop` ends a sleep. REQUIRES: `stop` outlives this.
  Pace(double share, const std::atomic<bool>& stop) : share_(share), stop_(stop) {}

  // A scope for one piece of work of the calling thread; its destructor sleeps as required.
  class Turn {
   public:
    explicit Turn(const Pace& pace);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const Pace& pace_;
    const std::chrono::nanoseconds began_;  // processor time of the thread
  };

  // The sleep that belongs to this much work.
  std::chrono::nanoseconds rest_after(std::chrono::nanoseconds worked) const;

 private:
  const double share_;
  const std::atomic<bool>& stop_;
};

}  // namespace tessera
