#include "sim/sim_virtual_engines.hpp"

#include <algorithm>
#include <thread>

namespace tessera {
namespace {

constexpr bool one_at_a_time(SimEngine engine) {
  return engine == SimEngine::kInbound || engine == SimEngine::kOutbound || engine == SimEngine::kPeerIn ||
         engine == SimEngine::kPeerOut;
}

}  // namespace

VirtualEngines::VirtualEngines(int devices, VirtualClock& clock, SimWatcher* watcher, std::size_t queue_depth,
                               VirtualHardware* hardware)
    : SimEngines(devices, clock, queue_depth),
      time_(clock),
      watcher_(watcher),
      hardware_(hardware),
      busy_(device_count()) {}

VirtualEngines::~VirtualEngines() {
  MutexLock lock(mutex_);
  while (schedule_.unfinished() > 0) await_progress();
}

Status VirtualEngines::prepare(DeviceId, SimEngine) { return {}; }

bool VirtualEngines::may_start(DeviceId device, SimEngine engine) {
  if (schedule_.ready_count(device, engine) == 0) return false;
  return !is_shared(engine) || hardware_->begin(device, engine, *this);
}

void VirtualEngines::resume(DeviceId device, SimEngine engine) {
  {
    const MutexLock lock(mutex_);
    start_ready();
  }
  hardware_->settle(device, engine, *this);
}

void VirtualEngines::start_ready() {
  if (!schedule_.is_any_ready()) return;  // most work is queued behind other work
  for (std::size_t i = 0; i < busy_.size(); ++i) {
    const DeviceId device(i);
    for (std::size_t j = 0; j < kSimEngines; ++j) {
      const auto engine = static_cast<SimEngine>(j);
      bool& busy = busy_[i][j];
      while (!busy && may_start(device, engine)) {
        const SimOp op = schedule_.start(device, engine);
        busy = one_at_a_time(engine);
        // Captures only as much as a std::function stores without an allocation.
        time_.schedule(time_.now() + work(op).time, [this, op] { finish(op); });
      }
    }
  }
}

void VirtualEngines::finish(SimOp op) {
  MutexLock lock(mutex_);
  const auto [device, engine] = schedule_.place_of(op);
  if (watcher_ != nullptr) watcher_->ran(device, engine, work(op), time_.now() - work(op).time, time_.now());
  run(op);
  busy_[device.value()][static_cast<std::size_t>(engine)] = false;
  retire(op);
  if (is_shared(engine)) hardware_->end(device, engine, *this);
}

bool VirtualEngines::is_busy(SimEngine engine) {
  if (is_shared(engine)) return hardware_->is_busy(engine);
  MutexLock lock(mutex_);
  return std::ranges::any_of(busy_, [engine](const auto& each) { return each[static_cast<std::size_t>(engine)]; });
}

void VirtualEngines::await_idle(SimEngine engine, Nanoseconds limit) {
  const Nanoseconds until = time_.now() + limit;
  while (is_busy(engine)) {
    if (time_.step_within(until)) continue;
    time_.run_until(until);
    return;
  }
}

void VirtualEngines::await_progress() {
  mutex_.unlock();
  // No event is left, and yet a call waits: another thread is carrying it out.
  if (!time_.step()) std::this_thread::yield();
  mutex_.lock();
}

void VirtualEngines::await(SimOp op) {
  while (!schedule_.is_finished(op)) await_progress();
}

// If no event occurs before that time, another thread may be carrying it out: polls a few times. Else the time is over
// at once: beside other programs each look would cost their time slices.
void VirtualEngines::await(SimOp op, Nanoseconds until) {
  constexpr int kLooks = 16;
  for (int looks = 0; !schedule_.is_finished(op) && looks < kLooks;) {
    mutex_.unlock();
    if (!time_.step_within(until)) {
      looks = time_.is_acting() ? looks + 1 : kLooks;
      if (looks < kLooks) std::this_thread::yield();
    }
    mutex_.lock();
  }
  if (schedule_.is_finished(op)) return;
  mutex_.unlock();
  time_.run_until(until);
  mutex_.lock();
}

}  // namespace tessera
