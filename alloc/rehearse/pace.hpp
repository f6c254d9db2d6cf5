// Holds a thread that works beside the program to its share of a processor.
//
// Under a quota (base/available_processors.hpp) every cycle of the search is taken from the program's own threads: at
// half a processor a search at full speed halves the program. So a thread rests behind each piece of work, as long as
// its share asks.
//
// Thread safety: a Turn belongs to its thread; a Pace is shared.
#pragma once

#include <atomic>
#include <chrono>

namespace tessera {

class Pace {
 public:
  // A quarter of the processors, for `threads` of them together; all of one where there are four or more for each.
  static double share_of(double processors, std::size_t threads);

  // `share` of one processor, above 0; 1 does not rest. `stop` ends a rest. REQUIRES: it outlives this.
  Pace(double share, const std::atomic<bool>& stop) : share_(share), stop_(stop) {}

  // One piece of work of the calling thread: from here to its end, and the rest behind it.
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

  // What belongs behind so much work.
  std::chrono::nanoseconds rest_after(std::chrono::nanoseconds worked) const;

 private:
  const double share_;
  const std::atomic<bool>& stop_;
};

}  // namespace tessera
