#include "page/run_readers.hpp"

namespace tessera {
namespace {

std::atomic<std::uint32_t> next_thread{0};
thread_local std::uint32_t thread_plus_one = 0;

std::uint32_t this_thread() {
  if (thread_plus_one == 0) {
    thread_plus_one = 1 + next_thread.fetch_add(1, std::memory_order_relaxed) % 0x7fffffff;
  }
  return thread_plus_one;
}

}  // namespace

// Everything here is sequentially consistent. A reader counts itself, then looks at the map; the
// remover clears the map, then looks at the counters: one of the two sees the other.
RunReaders::Ticket RunReaders::enter() {
  const Ticket ticket{this_thread() % kSlots, phase_.load()};
  slots_[ticket.slot].inside[ticket.phase].fetch_add(1);
  return ticket;
}

void RunReaders::leave(Ticket ticket) {
  auto& inside = slots_[ticket.slot].inside[ticket.phase];
  inside.fetch_sub(1);
  if (waiting_.load()) inside.notify_all();
}

// Two turns: a reader may have read the phase long before it counted itself under it.
void RunReaders::wait_for_all() {
  MutexLock lock(mutex_);
  waiting_.store(true);
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t old = phase_.load();
    phase_.store(old ^ 1u);
    drain(old);
  }
  waiting_.store(false);
}

void RunReaders::drain(std::uint32_t phase) {
  for (Slot& slot : slots_) {
    auto& inside = slot.inside[phase];
    for (std::uint32_t count = inside.load(); count != 0; count = inside.load()) inside.wait(count);
  }
}

}  // namespace tessera
