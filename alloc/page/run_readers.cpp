#include "page/run_readers.hpp"

#include <chrono>
#include <thread>

namespace tessera {
namespace {

// Most readers are gone within a look-up, some wait for a move of their run.
constexpr int kQuickLooks = 64;
constexpr std::chrono::microseconds kBetweenLooks{20};

}  // namespace

// Two turns: a reader may have read the phase long before it counted itself under it.
void RunReaders::wait_for_all() {
  MutexLock lock(mutex_);
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t old = phase_.load();
    phase_.store(old ^ 1u);
    drain(old);
  }
}

void RunReaders::drain(std::uint32_t phase) const {
  for (const Slot& slot : slots_) {
    for (int looks = 0; slot.inside[phase].load() != 0; ++looks) {
      if (looks < kQuickLooks) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kBetweenLooks);
      }
    }
  }
}

}  // namespace tessera
