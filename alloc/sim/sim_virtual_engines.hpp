// Simulated engines in virtual time: no threads, an event queue on a VirtualClock.
//
// Work takes the time it states (SimWork::time) and nothing else does: queueing takes none, and the clock moves only
// while a call waits. A copy engine carries out one copy at a time; kernels of different streams run concurrently,
// those of different programs (virtual_hardware.hpp) do not. The effect of work happens at its end, on the thread that
// advances time.
//
// Thread safety: as in sim_engines.hpp.
#pragma once

#include <array>
#include <vector>

#include "base/virtual_clock.hpp"
#include "sim/sim_engines.hpp"
#include "sim/sim_watcher.hpp"
#include "sim/virtual_hardware.hpp"

namespace tessera {

class VirtualEngines final : public SimEngines, private VirtualHardware::User {
 public:
  // `watcher` and `hardware`, which other programs use too, may be null. REQUIRES: `clock` and both outlive the
  // engines.
  VirtualEngines(int devices, VirtualClock& clock, SimWatcher* watcher = nullptr, std::size_t queue_depth = 0,
                 VirtualHardware* hardware = nullptr);
  ~VirtualEngines() override;
  void pass(Nanoseconds time) override { time_.run_until(time_.now() + time); }
  void await_idle(SimEngine engine, Nanoseconds limit) override;
  bool is_real() const override { return false; }

 private:
  Status prepare(DeviceId device, SimEngine engine) override REQUIRES_LOCK(mutex_);
  void start_ready() override REQUIRES_LOCK(mutex_);
  void await_progress() override REQUIRES_LOCK(mutex_);
  void await(SimOp op) override REQUIRES_LOCK(mutex_);
  void await(SimOp op, Nanoseconds until) override REQUIRES_LOCK(mutex_);
  void finish(SimOp op) EXCLUDES_LOCK(mutex_);
  void resume(DeviceId device, SimEngine engine) override EXCLUDES_LOCK(mutex_);
  // Whether an operation may start that is ready on an engine of this kind.
  bool may_start(DeviceId device, SimEngine engine) REQUIRES_LOCK(mutex_);
  bool is_shared(SimEngine engine) const { return hardware_ != nullptr && engine != SimEngine::kHost; }
  bool is_busy(SimEngine engine) EXCLUDES_LOCK(mutex_);

  VirtualClock& time_;
  SimWatcher* const watcher_;
  VirtualHardware* const hardware_;
  std::vector<std::array<bool, kSimEngines>> busy_ GUARDED_BY(mutex_);
};

}  // namespace tessera
