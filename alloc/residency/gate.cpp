#include "residency/gate.hpp"

#include "base/check.hpp"

namespace tessera {

void Gate::enter_when_open(Slot& slot) {
  do {
    slot.inside.fetch_sub(1);
    slot.inside.notify_all();
    closed_.wait(true);
    slot.inside.fetch_add(1);
  } while (closed_.load());
}

void Gate::wake_closer(Slot& slot) { slot.inside.notify_all(); }

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
