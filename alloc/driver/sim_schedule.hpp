// Which queued work of the simulated devices may run next: CUDA's ordering as a graph, no threads.
//
// Streams, events and the legacy default stream all reduce to one thing: an operation waits for a
// few earlier operations. A new one waits for the last of its stream; on the legacy stream also for
// the last of each blocking stream of its device, and the other way round. An event is a marker, an
// operation of no engine that is over as soon as all it waits for is. Time comes in as a value, so
// threads (SimEngines) or a discrete-event queue may drive the same schedule.
//
// Thread safety: none; the owner locks.
//
// Invariants (validate())
//  1. An operation's wait count is the number of unfinished operations that list it as dependent.
//  2. An operation is in a ready queue, once, exactly when it waits for nothing and is not started.
//  3. Markers never rest in a ready queue.
//  4. A stream counts the unfinished operations that were queued on it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/sim_slots.hpp"

namespace tessera {

using SimOp = Id<struct SimOpTag>;  // never given twice; 0 is "none"

enum class SimEngine : std::uint8_t { kCompute, kInbound, kOutbound, kPeerIn, kPeerOut, kHost, kMarker };
inline constexpr std::size_t kSimEngines = 6;  // those that carry out work

enum class SimStreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,
  kThread,  // a thread's default stream: blocking, and nobody's to destroy
  kLegacy,
};

class SimSchedule {
 public:
  struct Event {
    DeviceId device;
    bool recorded = false;
    SimOp op{};              // the marker of the last record
    bool over = true;        // whether that marker is, or there is none
    Nanoseconds finished{};  // when it was
  };

  explicit SimSchedule(int devices);

  // ---- streams and events ------------------------------------------------------------------
  StreamId legacy(DeviceId device) const { return legacy_[device.value()]; }
  StreamId add_stream(DeviceId device, SimStreamKind kind);
  // Its queued work still runs. False for a stream that is not there, or that is a default stream.
  bool remove_stream(StreamId stream);
  // Null for a stream that is not there (any more).
  const DeviceId* device_of(StreamId stream) const;
  EventId add_event(DeviceId device);
  bool remove_event(EventId event);
  const Event* find(EventId event) const;
  // The streams that somebody must still destroy, and all events, in ascending order.
  std::vector<StreamId> owned_streams() const;
  std::vector<EventId> events() const;

  // ---- queueing. REQUIRES: the stream and the event are there -------------------------------
  SimOp submit(StreamId stream, SimEngine engine, Nanoseconds now);
  void record(EventId event, StreamId stream, Nanoseconds now);
  void wait(StreamId stream, EventId event, Nanoseconds now);

  // ---- carrying out ------------------------------------------------------------------------
  // The operation that has been ready longest on this engine, or none; the caller must finish() it.
  SimOp start(DeviceId device, SimEngine engine);
  std::size_t ready_count(DeviceId device, SimEngine engine) const;
  // Where it is carried out. REQUIRES: not finished.
  std::pair<DeviceId, SimEngine> place_of(SimOp op) const;
  // REQUIRES: started and not finished.
  void finish(SimOp op, Nanoseconds now);

  // ---- questions ---------------------------------------------------------------------------
  // A small number, of this one alone among the unfinished.
  static std::size_t slot_of(SimOp op) { return SimSlots<SimOp, Op>::slot_of(op); }
  bool is_finished(SimOp op) const { return !ops_.contains(op); }
  // The unfinished operations that new work on the stream would wait for.
  std::vector<SimOp> pending(StreamId stream) const;
  // The last unfinished operation of each stream of the device.
  std::vector<SimOp> pending(DeviceId device) const;
  std::size_t unfinished() const { return ops_.size(); }
  // Of one stream; 0 for one that is not there.
  std::size_t unfinished(StreamId stream) const;
  Status validate() const;

 private:
  struct Stream {
    DeviceId device;
    SimStreamKind kind = SimStreamKind::kNonBlocking;
    SimOp last{};          // the last unfinished one, or none
    std::size_t unfinished = 0;
    bool removed = false;  // kept until its last operation is over
  };
  struct Op {
    StreamId stream;
    DeviceId device;
    SimEngine engine = SimEngine::kMarker;
    bool started = false;
    std::uint32_t waits_for = 0;
    EventId event;  // the event that this marker records, or none
    std::vector<SimOp> dependents{};
  };

  // REQUIRES: `op` was just taken.
  void enqueue(SimOp op, StreamId stream, SimEngine engine, EventId event, SimOp also_wait_for,
               Nanoseconds now);
  // Those of pending(stream).
  template <class Visit>
  void for_each_pending(const Stream& queue, Visit visit) const;
  void retire(SimOp op, const Op& record, Nanoseconds now);
  std::deque<SimOp>& ready(DeviceId device, SimEngine engine) {
    return ready_[device.value()][static_cast<std::size_t>(engine)];
  }

  std::uint64_t next_stream_ = 16;  // below are the ids with a fixed meaning
  std::uint64_t next_event_ = 16;
  std::vector<StreamId> legacy_;
  std::map<StreamId, Stream> streams_;
  std::unordered_map<EventId, Event> events_;
  SimSlots<SimOp, Op> ops_;  // unfinished ones only
  std::vector<SimOp> over_;  // for finish(), which is called all the time
  std::vector<std::array<std::deque<SimOp>, kSimEngines>> ready_;
};

}  // namespace tessera
