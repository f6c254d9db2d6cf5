#include "page/run_readers.hpp"

#include "base/backoff.hpp"

namespace tessera {

// Two phases: a reader may have read the phase long before it counted itself under it.
void RunReaders::wait_for_all() {
  MutexLock lock(mutex_);
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t old = phase_.load();
    phase_.store(old ^ 1u);
    drain(old);
  }
}

void RunReaders::drain(std::uint32_t phase) const {
  for (std::uint32_t i = 0, used = thread_slots_used(); i < used; ++i) {
    for (Backoff backoff; slots_[i].inside[phase].load() != 0;) backoff.pause();
  }
}

}  // namespace tessera
