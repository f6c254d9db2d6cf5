// Waits between polls of a condition that is not signalled.
//
// For conditions that usually become true within a few instructions: setting one is a plain store, and the rare
// waiter pays. It first yields the processor and then sleeps, so a long wait costs nothing.
//
// Thread safety: one thread.
#pragma once

#include <chrono>
#include <thread>

namespace tessera {

class Backoff {
 public:
  void pause() {
    if (++looks_ <= kQuickLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }

 private:
  static constexpr int kQuickLooks = 64;
  static constexpr std::chrono::microseconds kNap{20};

  int looks_ = 0;
};

}  // namespace tessera
