#include "residency/gate.hpp"

#include <chrono>
#include <thread>

#include "base/backoff.hpp"
#include "base/check.hpp"

namespace tessera {

void Gate::enter_when_open(std::uint32_t slot) {
  do {
    leave(slot);
    closed_.wait(true);
    come(slot);
  } while (closed_.load());
}

// Each launch is inside for a moment only.
bool Gate::saw_all_out(std::uint32_t but) const {
  constexpr int kLooks = 1000;
  int looks = 0;
  for (std::uint32_t i = 0; i < kThreadSlots; ++i) {
    if (i == but && i < kOwnThreadNumbers) continue;
    while (slots_[i].inside.load() != 0) {
      if (++looks == kLooks) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

void Gate::close() {
  DCHECK(!closed_.load());
  closed_.store(true);
  for (const Slot& slot : slots_) {
    for (Backoff backoff; slot.inside.load() != 0;) backoff.pause();
  }
}

bool Gate::close(Nanoseconds limit) {
  DCHECK(!closed_.load());
  closed_.store(true);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.value());
  for (const Slot& slot : slots_) {
    for (Backoff backoff; slot.inside.load() != 0; backoff.pause()) {
      if (std::chrono::steady_clock::now() < until) continue;
      open();
      return false;
    }
  }
  return true;
}

void Gate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace tessera
