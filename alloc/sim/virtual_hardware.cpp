#include "sim/virtual_hardware.hpp"

#include <algorithm>

namespace tessera {

VirtualHardware::VirtualHardware(int devices, Bytes memory, VirtualClock& clock)
    : clock_(clock), free_(static_cast<std::size_t>(devices), memory), turns_(free_.size()) {}

bool VirtualHardware::take(DeviceId device, Bytes bytes) {
  const MutexLock lock(mutex_);
  Bytes& free = free_[device.value()];
  if (free < bytes) return false;
  free -= bytes;
  return true;
}

void VirtualHardware::give(DeviceId device, Bytes bytes) {
  const MutexLock lock(mutex_);
  free_[device.value()] += bytes;
}

Bytes VirtualHardware::free(DeviceId device) {
  const MutexLock lock(mutex_);
  return free_[device.value()];
}

bool VirtualHardware::begin(DeviceId device, SimEngine engine, User& user) {
  const MutexLock lock(mutex_);
  Turn& turn = turn_of(device, engine);
  if (turn.owner == nullptr) {
    turn.owner = &user;
    turn.since = clock_.now();
  }
  const bool is_over = !turn.waiting.empty() && clock_.now() >= turn.since + kSlice;
  if (turn.owner == &user && !is_over) {
    ++turn.inside;
    return true;
  }
  if (std::ranges::find(turn.waiting, &user) == turn.waiting.end()) turn.waiting.push_back(&user);
  return false;
}

void VirtualHardware::end(DeviceId device, SimEngine engine, User& user) {
  {
    const MutexLock lock(mutex_);
    --turn_of(device, engine).inside;
  }
  settle(device, engine, user);
}

void VirtualHardware::settle(DeviceId device, SimEngine engine, User& user) {
  const MutexLock lock(mutex_);
  const Turn& turn = turn_of(device, engine);
  if (turn.owner == &user && turn.inside == 0) hand_over(device, engine);
}

// Another program's engines have a lock of their own, so they start their work in an action of the clock.
void VirtualHardware::hand_over(DeviceId device, SimEngine engine) {
  Turn& turn = turn_of(device, engine);
  turn.owner = nullptr;
  if (turn.waiting.empty()) return;
  turn.owner = turn.waiting.front();
  turn.since = clock_.now();
  turn.waiting.pop_front();
  clock_.schedule(clock_.now(), [user = turn.owner, device, engine] { user->resume(device, engine); });
}

bool VirtualHardware::is_busy(SimEngine engine) {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(turns_,
                             [engine](const auto& each) { return each[static_cast<std::size_t>(engine)].inside > 0; });
}

}  // namespace tessera
