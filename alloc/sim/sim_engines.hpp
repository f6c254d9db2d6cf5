// The engines of the simulated devices: queues of work, and calls that wait for it. The two subclasses define how and
// in what time it is carried out: RealEngines (threads) and VirtualEngines (an event queue).
//
// Each device has six: compute, copies in from the host and out to it, copies in from other devices and out to them,
// and host functions. Work that fails poisons its device: work queued behind it is dropped, and every later call about
// the device returns that first error.
//
// Thread safety: every call may be made from any thread. Calls that wait hold no lock meanwhile.
//
// Invariants: `works_` holds the work of exactly the unfinished operations that are not markers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "sim/sim_schedule.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

class SimEngines {
 public:
  // Both subclasses wait for all queued work at destruction.
  virtual ~SimEngines() = default;
  SimEngines(const SimEngines&) = delete;
  SimEngines& operator=(const SimEngines&) = delete;

  // ---- streams. Errors: native 400 for a stream or event that does not exist -----------------
  StreamId legacy(DeviceId device) EXCLUDES_LOCK(mutex_);
  // The calling thread's default stream.
  StreamId thread_stream(DeviceId device) EXCLUDES_LOCK(mutex_);
  StreamId add_stream(DeviceId device, bool blocking) EXCLUDES_LOCK(mutex_);
  Status remove_stream(StreamId stream) EXCLUDES_LOCK(mutex_);
  Result<DeviceId> device_of(StreamId stream) EXCLUDES_LOCK(mutex_);
  EventId add_event(DeviceId device) EXCLUDES_LOCK(mutex_);
  Status remove_event(EventId event) EXCLUDES_LOCK(mutex_);

  // ---- queueing. Errors: the device's, once it is poisoned -----------------------------------
  // Waits while too much is already queued, on that stream or on all of them.
  void wait_for_room(StreamId stream) EXCLUDES_LOCK(mutex_);
  // On an engine of the stream's device, or of another.
  Result<SimOp> submit(StreamId stream, SimEngine engine, SimWork work, std::optional<DeviceId> of = std::nullopt)
      EXCLUDES_LOCK(mutex_);
  // kNotFound for a stream that does not exist.
  Status record(EventId event, StreamId stream) EXCLUDES_LOCK(mutex_);
  // For all work queued on the event's device so far.
  Status record_all(EventId event) EXCLUDES_LOCK(mutex_);
  Status wait_event(StreamId stream, EventId event) EXCLUDES_LOCK(mutex_);

  // ---- waiting and polling -------------------------------------------------------------------
  Status wait(DeviceId device, SimOp op) EXCLUDES_LOCK(mutex_);
  Status synchronize(DeviceId device) EXCLUDES_LOCK(mutex_);
  Status synchronize(DeviceId device, Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  Status synchronize(StreamId stream) EXCLUDES_LOCK(mutex_);
  Status synchronize(StreamId stream, Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  Status synchronize(EventId event) EXCLUDES_LOCK(mutex_);
  Status synchronize(EventId event, Nanoseconds limit) EXCLUDES_LOCK(mutex_);
  Status query(StreamId stream) EXCLUDES_LOCK(mutex_);
  Status query(EventId event) EXCLUDES_LOCK(mutex_);
  Result<std::int64_t> elapsed(EventId a, EventId b) EXCLUDES_LOCK(mutex_);
  // An error that names `action` and the work, if queued or running work may access the range.
  Status check_untouched(const SimRange& range, std::string_view action) EXCLUDES_LOCK(mutex_);
  std::vector<std::string> leaks() EXCLUDES_LOCK(mutex_);
  // Lets time pass for the calling thread, while work goes on.
  virtual void pass(Nanoseconds time) EXCLUDES_LOCK(mutex_) = 0;
  // In virtual time: waits until no device's engine of this kind runs anything, at most for this time.
  virtual void await_idle(SimEngine, Nanoseconds) {}
  // Whether other threads run meanwhile. If not, the calling thread alone advances time.
  virtual bool is_real() const = 0;

 protected:
  // `queue_depth`: as in SimOptions. REQUIRES: `clock` outlives the engines.
  SimEngines(int devices, const Clock& clock, std::size_t queue_depth);

  // ---- implemented by the subclasses ---------------------------------------------------------
  // Called before work of an engine is queued, so that something can carry it out. An error rejects that work only.
  virtual Status prepare(DeviceId device, SimEngine engine) REQUIRES_LOCK(mutex_) = 0;
  // Work may have become ready that an idle engine could start.
  virtual void start_ready() REQUIRES_LOCK(mutex_) = 0;
  // Returns when some work may be over. Releases the lock meanwhile.
  virtual void await_progress() REQUIRES_LOCK(mutex_) = 0;
  // Returns when `op` is over. Releases the lock meanwhile.
  virtual void await(SimOp op) REQUIRES_LOCK(mutex_) = 0;
  // The same with a time limit.
  virtual void await(SimOp op, Nanoseconds until) REQUIRES_LOCK(mutex_) = 0;

  // ---- used by the subclasses ----------------------------------------------------------------
  // Runs started work, or drops it on a poisoned device. Releases the lock meanwhile.
  void run(SimOp op) REQUIRES_LOCK(mutex_);
  // Started work is over. Releases the lock at its end.
  void retire(SimOp op) REQUIRES_LOCK(mutex_);
  std::size_t device_count() const { return device_count_; }
  const SimWork& work(SimOp op) const REQUIRES_LOCK(mutex_) { return *works_[SimSchedule::slot_of(op)]; }

  const Clock& clock_;
  Mutex mutex_{LockRank::kSimulator};
  SimSchedule schedule_ GUARDED_BY(mutex_);

 private:
  void note_unfinished() REQUIRES_LOCK(mutex_) { unfinished_.store(schedule_.unfinished(), std::memory_order_relaxed); }
  void wait_all(const std::vector<SimOp>& ops) REQUIRES_LOCK(mutex_);
  Result<DeviceId> find(StreamId stream) const REQUIRES_LOCK(mutex_);
  Result<const SimSchedule::Event*> find(EventId event) const REQUIRES_LOCK(mutex_);
  const Status& error(DeviceId device) const REQUIRES_LOCK(mutex_) { return errors_[device.value()]; }

  const std::size_t device_count_;
  const std::size_t queue_depth_;
  const Status not_ready_;                                       // returned in polling loops, so it is made once
  std::atomic<std::size_t> unfinished_{0};                       // may be stale; for a quick check without the lock
  std::vector<Status> errors_ GUARDED_BY(mutex_);                // the first error of each device
  std::deque<std::optional<SimWork>> works_ GUARDED_BY(mutex_);  // by the slot of its operation
  // A thread id is reused after its thread has ended, and the stream with it.
  std::unordered_map<std::thread::id, std::vector<StreamId>> thread_streams_ GUARDED_BY(mutex_);
};

}  // namespace tessera
