// A thread that keeps moves going while the program is busy elsewhere.
//
// Copies end, writes to the spill file end, and what follows from them must happen although no
// call of the program comes by. The pump sleeps until it is kicked, then looks every so often until
// nothing is in flight. It decides nothing: it calls Residency::advance().
//
// Thread safety: kick() from any thread, cheap when the pump is awake.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace tessera {

class Pump {
 public:
  // `work` advances what is under way and tells whether anything still is. `look`, if any, is called
  // about four times a second, also when nothing is. Where no thread can be had it says so, and does neither.
  explicit Pump(std::function<bool()> work, std::function<void()> look = {});
  // Stops between two looks.
  ~Pump();

  void kick() {
    if (!awake_.load(std::memory_order_acquire)) wake();
  }

 private:
  void wake();
  void run();
  bool wait_for_kick();
  void look_if_due();

  const std::function<bool()> work_;
  const std::function<void()> look_;
  std::chrono::steady_clock::time_point looked_;  // of the pump's own thread
  std::atomic<bool> awake_{false};
  Mutex mutex_{LockRank::kApi};
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
