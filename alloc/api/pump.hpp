// A thread that advances moves while the program is busy elsewhere.
//
// Copies and spill writes complete, and their follow-up has to happen even if the program makes no call. The pump
// sleeps until it is kicked, then polls until nothing is in flight. It decides nothing: it calls Residency::advance().
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
  // `work` advances what is in flight and returns whether anything still is. `look`, if given, is called also while
  // nothing is in flight, and returns the time until its next call. Where no thread can be started this is logged, and
  // neither happens.
  using Look = std::function<std::chrono::milliseconds()>;
  static constexpr std::chrono::milliseconds kBetweenLooks{250};
  explicit Pump(std::function<bool()> work, Look look = {});
  // Stops between two calls.
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
  const Look look_;
  // Used by the pump's own thread only.
  std::chrono::steady_clock::time_point looked_;
  std::chrono::milliseconds until_look_{0};
  std::atomic<bool> awake_{false};
  Mutex mutex_{LockRank::kApi};
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
