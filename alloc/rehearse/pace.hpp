// Limits a background thread to its share of a processor.
//
// Under a CPU quota (base/available_processors.hpp) every cycle of the search is taken from the program's own
// threads: with half a processor, a search at full speed halves the program's speed. So a thread sleeps after
// each piece of work for as long as its share requires.
//
// Thread safety: a Turn belongs to its thread; a Pace may be shared.
#pragma once

#include <atomic>
#include <chrono>

namespace tessera {

class Pace {
 public:
  // A quarter of the processors, divided among `threads` threads; 1 if there are four or more processors per
  // thread.
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
