#include "residency/streams/gate.hpp"

#include <chrono>
#include <optional>
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

// Each launch is inside for a moment only. A thread with a slot that is not among those used was outside.
bool Gate::saw_all_out(std::uint32_t but) const {
  constexpr int kLooks = 1000;
  int looks = 0;
  for (std::uint32_t i = 0, used = thread_slots_used(); i < used; ++i) {
    if (i == but && i != kSharedThreadNumber) continue;
    while (slots_[i].inside.load() != 0) {
      if (++looks == kLooks) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

bool Gate::close() {
  DCHECK(!closed_.load());
  closed_.store(true);
  std::optional<std::chrono::steady_clock::time_point> begin;  // mostly no thread is inside, and no time is asked for
  // A thread that takes a further slot from here on finds the gate closed.
  for (std::uint32_t i = 0, used = thread_slots_used(); i < used; ++i) {
    for (Backoff backoff; slots_[i].inside.load() != 0; backoff.pause()) {
      const auto now = std::chrono::steady_clock::now();
      if (!begin) begin = now;
      if (now - *begin < std::chrono::nanoseconds(patience_.value())) continue;
      open();
      return false;
    }
  }
  return true;
}

Status Gate::Closed::status() const {
  if (is_closed_) return {};
  return Status(Code::kNotReady,
                "a launch of another thread does not return: its stream may be full behind a kernel "
                "that waits for the program");
}

void Gate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace tessera
