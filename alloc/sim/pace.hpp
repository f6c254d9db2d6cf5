// Limits a background thread to its share of a processor.
//
// Under a quota (base/available_processors.hpp) every cycle of the search is taken from the program's own threads: with
// half a processor, a search at full speed halves the program's speed, and one with a quarter of the quota still
// takes a fifth of it. So a thread sleeps after each piece of work for as long as its share requires.
//
// Thread safety: a Turn belongs to its thread; a Pace may be shared.
#pragma once

#include <atomic>
#include <chrono>

namespace tessera {

class Pace {
 public:
  // The share of one processor for each of `threads` threads, which together get a quarter of the processors. They get
  // less if that leaves the program less than one processor, but at least 1/32 of all. At most 1 for each thread.
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

  // How long to sleep after this much work.
  std::chrono::nanoseconds rest_after(std::chrono::nanoseconds worked) const;

 private:
  const double share_;
  const std::atomic<bool>& stop_;
};

}  // namespace tessera
