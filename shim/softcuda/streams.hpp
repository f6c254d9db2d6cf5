// Streams and events of the API: the simulator's ids, with the attributes that only CUDA has.
//
// A CUstream or CUevent is the simulator's id as a pointer; ids are never reused, so a handle of a destroyed object is
// recognised.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "context.hpp"
#include "shared_events.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::softcuda {

struct StreamInfo {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
};

struct EventInfo {
  Context* context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<SharedEvent> shared = {};  // for interprocess events
};

// The default streams.
inline constexpr StreamId kLegacyStream{0};
inline constexpr StreamId kPerThreadStream{2};

inline CUstream handle_of(StreamId id) { return reinterpret_cast<CUstream>(id.value()); }
inline CUevent handle_of(EventId id) { return reinterpret_cast<CUevent>(id.value()); }
inline EventId id_of(CUevent event) { return EventId(reinterpret_cast<std::uint64_t>(event)); }

class Streams {
 public:
  explicit Streams(SimDriver& driver) : driver_(driver) {}

  // The simulator's id of any handle, including default streams. The use of a destroyed stream ends the process, as a
  // real driver may crash. Errors: native code 400 for what never was a stream.
  Result<StreamId> resolve(CUstream handle);
  Result<StreamId> create(Context& context, unsigned flags, int priority);
  Status destroy(CUstream handle);
  // Null for default streams and unknown handles.
  std::optional<StreamInfo> find(CUstream handle);

  // CU_EVENT_INTERPROCESS makes it usable by several processes.
  Result<EventId> create_event(Context& context, unsigned flags);
  Result<EventId> add_event(Context& context, const EventInfo& info);
  Status destroy_event(CUevent handle);
  // Errors: native code 400.
  Result<EventInfo> find_event(CUevent handle);

  // As the driver's, also for interprocess events. Errors: native code 400 for an unknown event.
  Status record(CUevent event, StreamId stream);
  Status wait(StreamId stream, CUevent event);
  Status query(CUevent event);
  Status synchronize(CUevent event);

  // Destroys all streams and events of a context.
  Status clear(const Context* context);

 private:
  Status end(StreamId stream);

  SimDriver& driver_;
  Mutex mutex_{LockRank::kStreams};
  std::map<StreamId, StreamInfo> streams_ GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> destroyed_ GUARDED_BY(mutex_);  // by the program
  std::map<EventId, EventInfo> events_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
