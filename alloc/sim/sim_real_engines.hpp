// Simulated engines in real time: a thread for each, started with its first work, since most programs do not use all
// six.
//
// An engine carries out one piece of work at a time, except compute: kernels that are ready run concurrently, as on a
// GPU, each on a thread of its own, which waits for the next one afterwards. Work that finishes before its modelled
// time keeps its thread busy until then.
//
// Thread safety: as in sim_engines.hpp.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "sim/sim_engines.hpp"

namespace tessera {

class SimHardware;

class RealEngines final : public SimEngines {
 public:
  // `hardware`: as in SimOptions. REQUIRES: `clock` runs, and outlives the engines.
  RealEngines(int devices, const Clock& clock, std::size_t queue_depth = 0, SimHardware* hardware = nullptr);
  ~RealEngines() override;
  void pass(Nanoseconds time) override;
  bool is_real() const override { return true; }

 private:
  struct Engine {
    Condition ready;
    std::vector<std::thread> threads;
    std::size_t busy = 0;  // threads that run work
  };
  struct Device {
    std::array<Engine, kSimEngines> engines;
  };

  Status prepare(DeviceId device, SimEngine engine) override REQUIRES_LOCK(mutex_);
  void start_ready() override REQUIRES_LOCK(mutex_);
  void await_progress() override REQUIRES_LOCK(mutex_);
  void await(SimOp op) override REQUIRES_LOCK(mutex_);
  void await(SimOp op, Nanoseconds until) override REQUIRES_LOCK(mutex_);
  Status add_thread(DeviceId device, SimEngine engine) REQUIRES_LOCK(mutex_);
  void wake_waiters() REQUIRES_LOCK(mutex_);
  void run_engine(DeviceId device, SimEngine engine) EXCLUDES_LOCK(mutex_);
  // Runs the work in a turn of this process.
  void carry_out(DeviceId device, SimEngine engine, SimOp op) REQUIRES_LOCK(mutex_);
  // Runs the work and lets its time pass.
  void let_time_pass(SimOp op) REQUIRES_LOCK(mutex_);

  SimHardware* const hardware_;
  Condition any_finished_;      // for calls that wait for room, or for the end
  Condition awaited_finished_;  // for calls that wait for an operation in awaited_
  std::multiset<SimOp> awaited_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool reported_ GUARDED_BY(mutex_) = false;      // that there was no thread
  std::vector<std::unique_ptr<Device>> devices_;  // the list never changes
};

}  // namespace tessera
