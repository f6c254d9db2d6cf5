#include "residency/gate.hpp"

#include <thread>

#include "base/check.hpp"

namespace tessera {
namespace {

std::atomic<std::uint32_t> next_thread{0};
thread_local const std::uint32_t kThisThread = next_thread.fetch_add(1, std::memory_order_relaxed);

}  // namespace

// The two sides use sequentially consistent operations on different locations (Dekker): either the
// entering thread sees the gate closed, or the closing thread sees it inside.
std::uint32_t Gate::enter() {
  const std::uint32_t index = kThisThread % kSlots;
  Slot& slot = slots_[index];
  for (;;) {
    slot.inside.fetch_add(1);
    if (!closed_.load()) return index;
    slot.inside.fetch_sub(1);
    slot.inside.notify_all();
    closed_.wait(true);
  }
}

void Gate::leave(std::uint32_t slot) {
  slots_[slot].inside.fetch_sub(1);
  if (closed_.load()) slots_[slot].inside.notify_all();
}

void Gate::close() {
  DCHECK(!closed_.load());
  closed_.store(true);
  for (Slot& slot : slots_) {
    for (std::uint32_t inside = slot.inside.load(); inside != 0; inside = slot.inside.load()) {
      slot.inside.wait(inside);
    }
  }
}

void Gate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace tessera
