// Simulated engines in virtual time: no threads, an event queue on a VirtualClock.
//
// Work takes the time it states (SimWork::time) and nothing else does: queueing takes none, and the clock moves only
// while a call waits. A copy engine carries out one copy at a time; kernels of different streams run concurrently. The
// effect of work happens at its end, on the thread that advances time.
//
// Thread safety: as in sim_engines.hpp.
#pragma once

#include <array>
#include <vector>

#include "base/virtual_clock.hpp"
#include "sim/sim_engines.hpp"
#include "sim/sim_watcher.hpp"

namespace tessera {

class VirtualEngines final : public SimEngines {
 public:
  // `watcher` may be null. REQUIRES: `clock` and the watcher outlive the engines.
  VirtualEngines(int devices, VirtualClock& clock, SimWatcher* watcher = nullptr, std::size_t queue_depth = 0);
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
  bool is_busy(SimEngine engine) EXCLUDES_LOCK(mutex_);

  VirtualClock& time_;
  SimWatcher* const watcher_;
  std::vector<std::array<bool, kSimEngines>> busy_ GUARDED_BY(mutex_);
};

}  // namespace tessera
