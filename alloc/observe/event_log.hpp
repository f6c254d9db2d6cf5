// What happened to pages, as a bounded ring of values: the source of the timeline; and on request as
// the history of the whole run: the source of the report.
//
// Old events are overwritten, never waited for; `lost()` counts them, so a picture that is not
// whole says so. The history loses none.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"
#include "observe/event.hpp"
#include "observe/history.hpp"
#include "observe/profiler.hpp"

namespace tessera {

class EventLog {
 public:
  // Keeps the last `capacity` events; where that is 0, it is as if there were none. `profiler` may be null; it is told
  // of moves and marks as they happen. REQUIRES: the profiler outlives this.
  EventLog(const Clock& clock, std::size_t capacity, bool with_history = false,
           Profiler* profiler = nullptr);

  Nanoseconds now() const { return clock_.now(); }
  Profiler* profiler() const { return profiler_; }
  // Now, when the transfer of a page begins; recording its event ends it.
  Nanoseconds begin_move(Link link, Address page, Bytes bytes) const;
  void record(const Event& event);
  // The program's own mark, now.
  void mark(std::string_view kind, std::uint64_t number);
  // An event that ends now.
  void record(EventKind kind, DeviceId device, Nanoseconds begin, Address address, Bytes bytes);
  // A stall, and what it was for.
  void record(const Event& stall, const StallParts& parts);
  // Bytes of a tag are nearest in another place than before; for the history alone, and free without.
  void change_place(TagId tag, Nearest from, Nearest to, Bytes bytes);
  // Oldest first.
  std::vector<Event> events() const;
  std::uint64_t lost() const;
  // Up to now; nothing where none is kept.
  std::optional<HistoryPicture> history() const;

 private:
  void keep(const Event& event) REQUIRES_LOCK(mutex_);
  void tell_profiler(const Event& event) const;

  const Clock& clock_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::vector<Event> ring_ GUARDED_BY(mutex_);
  std::uint64_t recorded_ GUARDED_BY(mutex_) = 0;
  std::optional<History> history_ GUARDED_BY(mutex_);
  const std::size_t capacity_;
  const bool with_history_;
  const bool keeps_;  // any of both
  Profiler* const profiler_;
};

}  // namespace tessera
