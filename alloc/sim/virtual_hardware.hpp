// Simulated devices that several programs use in one virtual time: their memory, and whose turn each engine is.
//
// As without MPS, an engine carries out the work of one program at a time. A program keeps it while it has work, for a
// slice of time if others wait; then the next that waits has it. Work is not interrupted.
//
// Thread safety: every call may be made from any thread.
//
// Invariants: an engine has an owner exactly while work runs on it or has been chosen to run next.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "base/mutex.hpp"
#include "base/virtual_clock.hpp"
#include "sim/sim_hardware.hpp"

namespace tessera {

class VirtualHardware final : public SimCommonMemory {
 public:
  static constexpr Nanoseconds kSlice{2'000'000};  // as the time slices of GPUs, which are of milliseconds

  // The engines of one program.
  class User {
   public:
    virtual ~User() = default;
    // The engine is this program's: starts work that waits, then calls settle().
    virtual void resume(DeviceId device, SimEngine engine) = 0;
  };

  // Each device has `memory`. REQUIRES: `clock` outlives it.
  VirtualHardware(int devices, Bytes memory, VirtualClock& clock);

  bool take(DeviceId device, Bytes bytes) override EXCLUDES_LOCK(mutex_);
  void give(DeviceId device, Bytes bytes) override EXCLUDES_LOCK(mutex_);
  Bytes free(DeviceId device) override EXCLUDES_LOCK(mutex_);

  // Whether the program may start a piece of work now. If not, it is resumed later. REQUIRES: it has work that is
  // ready; the user outlives all of it.
  bool begin(DeviceId device, SimEngine engine, User& user) EXCLUDES_LOCK(mutex_);
  // A piece is over, and what follows it at once has begun.
  void end(DeviceId device, SimEngine engine, User& user) EXCLUDES_LOCK(mutex_);
  // After resume(): the next has the engine if nothing was started.
  void settle(DeviceId device, SimEngine engine, User& user) EXCLUDES_LOCK(mutex_);
  // Whether any program's work runs on an engine of this kind.
  bool is_busy(SimEngine engine) EXCLUDES_LOCK(mutex_);

 private:
  struct Turn {
    User* owner = nullptr;
    Nanoseconds since;
    std::size_t inside = 0;  // pieces of work of the owner
    std::deque<User*> waiting;
  };
  Turn& turn_of(DeviceId device, SimEngine engine) REQUIRES_LOCK(mutex_) {
    return turns_[device.value()][static_cast<std::size_t>(engine)];
  }
  void hand_over(DeviceId device, SimEngine engine) REQUIRES_LOCK(mutex_);

  VirtualClock& clock_;
  Mutex mutex_{LockRank::kSimulation};
  std::vector<Bytes> free_ GUARDED_BY(mutex_);  // by device
  std::vector<std::array<Turn, kSimEngines>> turns_ GUARDED_BY(mutex_);
};

}  // namespace tessera
