#include "api/pump.hpp"

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace tessera {
namespace {

// A copy of a base page takes longer than this on any link, so polling more often finds nothing.
constexpr std::chrono::microseconds kInterval{100};

}  // namespace

Pump::Pump(std::function<bool()> work, Look look) : work_(std::move(work)), look_(std::move(look)) {
  const Status started = start_thread(thread_, [this] { run(); });
  if (!started.is_ok()) {
    log_line(LogLevel::kWarning, "copies advance only during calls of the program: no background thread: {}",
             started.message());
  }
}

Pump::~Pump() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Pump::wake() {
  {
    MutexLock lock(mutex_);
    awake_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

// Waits for a kick, or until the next look is due; false when it is time to stop.
bool Pump::wait_for_kick() {
  MutexLock lock(mutex_);
  while (!awake_.load() && !stopping_) {
    if (!look_) {
      changed_.wait(mutex_);
    } else if (!changed_.wait_for(mutex_, std::max(until_look_, std::chrono::milliseconds(1)))) {
      break;
    }
  }
  return !stopping_;
}

void Pump::look_if_due() {
  if (!look_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < until_look_) return;
  looked_ = now;
  until_look_ = look_();
}

void Pump::run() {
  while (wait_for_kick()) {
    look_if_due();
    // Marked asleep before the last call of work_(), so that a kick during it is not missed.
    awake_.store(false);
    if (!work_()) continue;
    awake_.store(true);
    MutexLock lock(mutex_);
    if (!stopping_) changed_.wait_for(mutex_, kInterval);
  }
}

}  // namespace tessera
