#include "api/pump.hpp"

#include <chrono>

namespace tessera {
namespace {

// A copy of a base page takes longer than this on any link, so looking more often finds nothing.
constexpr std::chrono::microseconds kInterval{100};

}  // namespace

Pump::Pump(std::function<bool()> work) : work_(std::move(work)), thread_([this] { run(); }) {}

Pump::~Pump() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Pump::wake() {
  {
    MutexLock lock(mutex_);
    awake_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void Pump::run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!awake_.load() && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
    }
    // Asleep before the last look, so that a kick during it is not missed.
    awake_.store(false);
    if (!work_()) continue;
    awake_.store(true);
    MutexLock lock(mutex_);
    if (!stopping_) changed_.wait_for(mutex_, kInterval);
  }
}

}  // namespace tessera
