// Which queued work of the simulated devices may run next: CUDA's ordering as a graph, without threads.
//
// Streams, events and the legacy default stream all reduce to one rule: an operation waits for a few earlier
// operations. A new one waits for the last of its stream; on the legacy stream also for the last of each blocking
// stream of its device, and vice versa. An event is a marker, an operation without an engine that is over as soon as
// everything it waits for is. Time is passed in as a value, so threads (SimEngines) or a discrete-event queue can use
// the same schedule.
//
// Thread safety: none; the owner locks.
//
// Invariants (validate())
//  1. An operation's wait count is the number of unfinished operations that list it as dependent.
//  2. An operation is in a ready queue, once, exactly when it waits for nothing and is not started.
//  3. Markers never stay in a ready queue.
//  4. A stream counts the unfinished operations that were queued on it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"
#include "sim/sim_slots.hpp"

namespace tessera {

using SimOp = Id<struct SimOpTag>;  // never reused; 0 is "none"

enum class SimEngine : std::uint8_t { kCompute, kInbound, kOutbound, kPeerIn, kPeerOut, kHost, kMarker };
inline constexpr std::size_t kSimEngines = 6;  // those that carry out work

enum class SimStreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,
  kThread,  // a thread's default stream: blocking, and cannot be destroyed
  kLegacy,
};

class SimSchedule {
 public:
  struct Event {
    DeviceId device;
    bool recorded = false;
    SimOp op{};              // the marker of the last record
    bool over = true;        // whether that marker is over; true without one
    Nanoseconds finished{};  // when it was
  };

  explicit SimSchedule(int devices);

  // ---- streams and events ------------------------------------------------------------------
  StreamId legacy(DeviceId device) const { return legacy_[device.value()]; }
  StreamId add_stream(DeviceId device, SimStreamKind kind);
  // Its queued work still runs. False for a stream that does not exist, or is a default stream.
  bool remove_stream(StreamId stream);
  // Null for a stream that does not exist (any more).
  const DeviceId* device_of(StreamId stream) const;
  EventId add_event(DeviceId device);
  bool remove_event(EventId event);
  const Event* find(EventId event) const;
  // The streams that still have to be destroyed, and all events, in ascending order.
  std::vector<StreamId> owned_streams() const;
  std::vector<EventId> events() const;

  // ---- queueing. REQUIRES: the stream and the event exist -----------------------------------
  // On an engine of the stream's device, or of another.
  SimOp submit(StreamId stream, SimEngine engine, Nanoseconds now, std::optional<DeviceId> of = std::nullopt);
  void record(EventId event, StreamId stream, Nanoseconds now);
  // For all unfinished operations of the event's device.
  void record_all(EventId event, Nanoseconds now);
  void wait(StreamId stream, EventId event, Nanoseconds now);

  // ---- carrying out ------------------------------------------------------------------------
  // Starts the operation that has been ready longest on this engine; none if there is none. The caller must finish()
  // it.
  SimOp start(DeviceId device, SimEngine engine);
  std::size_t ready_count(DeviceId device, SimEngine engine) const;
  // On any engine of any device.
  bool is_any_ready() const { return ready_in_all_ != 0; }
  // The engine that carries it out, and the device of its stream. REQUIRES: not finished.
  std::pair<DeviceId, SimEngine> place_of(SimOp op) const;
  DeviceId device_of(SimOp op) const { return ops_.at(op).device; }
  // REQUIRES: started and not finished.
  void finish(SimOp op, Nanoseconds now);

  // ---- queries -----------------------------------------------------------------------------
  // A small number, unique among unfinished operations.
  static std::size_t slot_of(SimOp op) { return SimSlots<SimOp, Op>::slot_of(op); }
  bool is_finished(SimOp op) const { return !ops_.contains(op); }
  // The unfinished operations that new work on the stream would wait for.
  std::vector<SimOp> pending(StreamId stream) const;
  // The last unfinished operation of each stream of the device.
  std::vector<SimOp> pending(DeviceId device) const;
  std::size_t unfinished() const { return ops_.size(); }
  // On one stream; 0 for one that does not exist.
  std::size_t unfinished(StreamId stream) const;
  Status validate() const;

 private:
  struct Stream {
    DeviceId device;
    SimStreamKind kind = SimStreamKind::kNonBlocking;
    SimOp last{};  // the last unfinished one, or none
    std::size_t unfinished = 0;
    bool removed = false;  // kept until its last operation is over
  };
  struct Op {
    StreamId stream;
    Stream* queue = nullptr;  // that stream's; stays until its last operation is over
    DeviceId device;
    SimEngine engine = SimEngine::kMarker;
    DeviceId place;  // the device of the engine
    bool started = false;
    std::uint32_t waits_for = 0;
    EventId event;  // the event that this marker records, or none
    std::vector<SimOp> dependents{};
  };

  // REQUIRES: `op` was just taken.
  void enqueue(SimOp op, StreamId stream, SimEngine engine, EventId event, SimOp also_wait_for, Nanoseconds now,
               std::optional<DeviceId> of = std::nullopt);
  // Visits the operations of pending(stream).
  template <class Visit>
  void for_each_pending(const Stream& queue, Visit visit) const;
  void retire(SimOp op, const Op& record, Nanoseconds now);
  std::deque<SimOp>& ready(DeviceId device, SimEngine engine) {
    return ready_[device.value()][static_cast<std::size_t>(engine)];
  }
  void note_ready(SimOp op, const Op& record) {
    ready(record.place, record.engine).push_back(op);
    ++ready_in_all_;
  }

  std::uint64_t next_stream_ = 16;  // ids below have a fixed meaning
  std::vector<StreamId> legacy_;
  std::map<StreamId, Stream> streams_;
  SimSlots<EventId, Event> events_;
  SimSlots<SimOp, Op> ops_;  // unfinished ones only
  std::vector<SimOp> over_;  // buffer of finish(), which is called all the time
  std::vector<std::array<std::deque<SimOp>, kSimEngines>> ready_;
  std::size_t ready_in_all_ = 0;
};

}  // namespace tessera
