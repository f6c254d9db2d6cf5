// The simulated devices' engines: threads that carry out what the schedule lets run, in real time.
//
// Each device has four: compute, inbound copies, outbound copies, and host functions. They start
// with the first work of their device. Work that fails poisons its device: what is queued behind it
// is dropped, and every later call about the device returns that first error.
//
// Thread safety: every call may be made from any thread. Calls that wait hold no lock meanwhile.
//
// Invariants: `works_` holds exactly the unfinished operations that are not markers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/sim_schedule.hpp"
#include "driver/sim_work.hpp"

namespace tessera {

class SimEngines {
 public:
  // REQUIRES: `clock` outlives the engines.
  SimEngines(int devices, const Clock& clock);
  // Waits for all queued work.
  ~SimEngines();

  // ---- streams. Errors: native 400 for a stream or event that is not there -------------------
  StreamId legacy(DeviceId device) EXCLUDES_LOCK(mutex_);
  // The calling thread's default stream.
  StreamId thread_stream(DeviceId device) EXCLUDES_LOCK(mutex_);
  StreamId add_stream(DeviceId device, bool blocking) EXCLUDES_LOCK(mutex_);
  Status remove_stream(StreamId stream) EXCLUDES_LOCK(mutex_);
  Result<DeviceId> device_of(StreamId stream) EXCLUDES_LOCK(mutex_);
  EventId add_event(DeviceId device) EXCLUDES_LOCK(mutex_);
  Status remove_event(EventId event) EXCLUDES_LOCK(mutex_);

  // ---- queueing. Errors: the device's, once it is poisoned -----------------------------------
  // Waits while too much is queued already.
  void wait_for_room() EXCLUDES_LOCK(mutex_);
  Result<SimOp> submit(StreamId stream, SimEngine engine, SimWork work) EXCLUDES_LOCK(mutex_);
  // kNotFound for a stream that is not there.
  Status record(EventId event, StreamId stream) EXCLUDES_LOCK(mutex_);
  Status wait_event(StreamId stream, EventId event) EXCLUDES_LOCK(mutex_);

  // ---- waiting and asking --------------------------------------------------------------------
  Status wait(DeviceId device, SimOp op) EXCLUDES_LOCK(mutex_);
  Status synchronize(DeviceId device) EXCLUDES_LOCK(mutex_);
  Status synchronize(StreamId stream) EXCLUDES_LOCK(mutex_);
  Status synchronize(EventId event) EXCLUDES_LOCK(mutex_);
  Status query(StreamId stream) EXCLUDES_LOCK(mutex_);
  Status query(EventId event) EXCLUDES_LOCK(mutex_);
  Result<std::int64_t> elapsed(EventId a, EventId b) EXCLUDES_LOCK(mutex_);
  // An error that names `action` and the work, if queued or running work may touch the range.
  Status check_untouched(const SimRange& range, std::string_view action) EXCLUDES_LOCK(mutex_);
  std::vector<std::string> leaks() EXCLUDES_LOCK(mutex_);

 private:
  struct Device {
    bool started = false;
    Status error;
    std::array<Condition, kSimEngines> ready;
    std::array<std::thread, kSimEngines> threads;
  };

  Status start_threads(DeviceId device) REQUIRES_LOCK(mutex_);
  void run_engine(DeviceId device, SimEngine engine) EXCLUDES_LOCK(mutex_);
  void notify_ready() REQUIRES_LOCK(mutex_);
  void wake_waiters() REQUIRES_LOCK(mutex_);
  void wait_all(const std::vector<SimOp>& ops) REQUIRES_LOCK(mutex_);
  Result<DeviceId> find(StreamId stream) const REQUIRES_LOCK(mutex_);
  Result<const SimSchedule::Event*> find(EventId event) const REQUIRES_LOCK(mutex_);
  const Status& error(DeviceId device) const REQUIRES_LOCK(mutex_) {
    return devices_[device.value()]->error;
  }

  const Clock& clock_;
  Mutex mutex_{LockRank::kSimulator};
  Condition any_finished_;      // for those who wait for room, or for the end
  Condition awaited_finished_;  // for those who wait for an operation in awaited_
  std::multiset<SimOp> awaited_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  SimSchedule schedule_ GUARDED_BY(mutex_);
  std::unordered_map<SimOp, SimWork> works_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Device>> devices_;  // the list never changes
  // A thread id is used again after its thread has ended, and so is the stream.
  std::unordered_map<std::thread::id, std::vector<StreamId>> thread_streams_ GUARDED_BY(mutex_);
};

}  // namespace tessera
