// Waits a little between looks at something whose end nobody announces.
//
// For ends that come within a few instructions most of the time: who ends such a thing does it with one
// plain store, and who waits, which is rare, pays. First the processor is offered to others, then the
// thread sleeps, so that a long wait costs nothing.
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
