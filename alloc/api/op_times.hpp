// Durations of the operations of a recording: timed events around some of them, and a trace line for each as soon as
// the device has passed it.
//
// Not all are timed, as two events cost about as much as everything else a launch pays. Operations of one kind (the
// same name, on as many blocks of as many bytes) take the same time: the first few are timed, and a fraction of the
// others. The reader of the trace gives all of a kind the median (lab/replay/kind_times.hpp).
//
// Thread safety: every call may be made from any thread. Where two threads launch on one stream at once, one
// measurement may include both operations.
//
// Bounds: kMostKinds kinds, beyond which operations are not timed; kMostUnder measurements in flight per device.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/mutex.hpp"
#include "observe/trace_writer.hpp"
#include "residency/streams/stopwatches.hpp"

namespace tessera {

class OpTimes {
 public:
  static constexpr std::size_t kMostKinds = std::size_t{1} << 16;
  static constexpr std::size_t kMostUnder = 1024;
  static constexpr std::uint32_t kFirstOnes = 8, kOneIn = 16;  // per kind

  // REQUIRES: both outlive it.
  OpTimes(Driver& driver, TraceWriter& trace) : driver_(driver), trace_(trace) {}

  // Called before and after the work of such an operation is queued on the stream.
  void begin(const TraceWriter::OpKind& kind, StreamId stream);
  void end(StreamId stream);
  // Writes the trace lines of measurements that are complete.
  void look();

 private:
  struct Running {
    TraceWriter::OpKind kind;
    Stopwatches* watches = nullptr;
    Stopwatches::Watch watch = 0;
  };
  bool is_due(const TraceWriter::OpKind& kind) REQUIRES_LOCK(mutex_);
  Stopwatches& watches_of(DeviceId device) REQUIRES_LOCK(mutex_);

  Driver& driver_;
  TraceWriter& trace_;
  Mutex mutex_{LockRank::kApi};
  std::map<DeviceId, std::unique_ptr<Stopwatches>> watches_ GUARDED_BY(mutex_);
  std::unordered_map<std::size_t, std::uint32_t> seen_ GUARDED_BY(mutex_);  // by kind
  std::unordered_map<std::uint64_t, Running> running_ GUARDED_BY(mutex_);   // by stream
  std::deque<Running> under_way_ GUARDED_BY(mutex_);                        // oldest first
};

}  // namespace tessera
