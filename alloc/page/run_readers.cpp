#include "page/run_readers.hpp"

#include "base/thread_number.hpp"

namespace tessera {

// Everything here is sequentially consistent. A reader counts itself, then looks at the map; the
// remover clears the map, then looks at the counters: one of the two sees the other.
RunReaders::Ticket RunReaders::enter() {
  const Ticket ticket{thread_number() % kSlots, phase_.load()};
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
