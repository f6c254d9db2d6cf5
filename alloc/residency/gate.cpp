#include "residency/gate.hpp"

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

void Gate::close() {
  DCHECK(!closed_.load());
  closed_.store(true);
  for (const Slot& slot : slots_) {
    for (Backoff backoff; slot.inside.load() != 0;) backoff.pause();
  }
}

void Gate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace tessera
