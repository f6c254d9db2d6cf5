// What happened to pages: a bounded ring of events, the source of the timeline, and on request the history of
// the whole run and of one part of it, the sources of reports.
//
// The ring overwrites old events and never waits. `Kept::lost` counts the overwritten ones, so an incomplete
// timeline is marked as such. The histories lose nothing.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/location.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"
#include "observe/event.hpp"
#include "observe/history.hpp"
#include "observe/profiler.hpp"

namespace tessera {

class EventLog {
 public:
  // Keeps the last `capacity` events; 0 disables the ring. `profiler` may be null; it is notified of moves and
  // marks as they happen. REQUIRES: the profiler outlives this.
  EventLog(const Clock& clock, std::size_t capacity, bool with_history = false, Profiler* profiler = nullptr);

  Nanoseconds now() const { return clock_.now(); }
  Profiler* profiler() const { return profiler_; }
  // Begins the transfer of a page and returns the current time. Recording the page's event ends it.
  Nanoseconds begin_move(Link link, Address page, Bytes bytes) const;
  void record(const Event& event);
  // Records a mark set by the program, at the current time.
  void mark(std::string_view kind, std::uint64_t number);
  // Records an event that ends now.
  void record(EventKind kind, DeviceId device, Nanoseconds begin, Address address, Bytes bytes);
  // Records a stall and the breakdown of its causes.
  void record(const Event& stall, const StallParts& parts);
  // Moves bytes of a tag from one nearest tier to another; does nothing in a log that keeps nothing.
  void change_place(TagId tag, Location from, Location to, Bytes bytes);
  struct Kept {
    std::vector<Event> events;  // oldest first
    std::uint64_t lost = 0;     // recorded before, and overwritten
  };
  // Copied in parts, so that recording waits only for one of them.
  Kept kept() const;
  // The history up to now; empty if none is kept.
  std::optional<HistoryPicture> history() const;
  // Begins the history of a part of the run, in place of an earlier part. Bytes that are somewhere already count from
  // the beginning, and what has begun before and ends later counts from the beginning too. False in a log that keeps
  // nothing.
  bool begin_part();
  // The same for the part; empty without one.
  std::optional<HistoryPicture> part() const;
  void end_part();

 private:
  void keep(const Event& event) REQUIRES_LOCK(mutex_);
  std::uint64_t oldest() const REQUIRES_LOCK(mutex_) { return recorded_ > capacity_ ? recorded_ - capacity_ : 0; }
  void tell_profiler(const Event& event) const;
  template <class Visit>
  void for_each_history(Visit visit) REQUIRES_LOCK(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::vector<Event> ring_ GUARDED_BY(mutex_);
  std::uint64_t recorded_ GUARDED_BY(mutex_) = 0;
  std::optional<History> history_ GUARDED_BY(mutex_), part_ GUARDED_BY(mutex_);
  std::map<TagId, std::array<Bytes, kLocations>> places_ GUARDED_BY(mutex_);  // of all bytes that are somewhere
  const std::size_t capacity_;
  const bool keeps_;  // whether there is a ring or a history
  Profiler* const profiler_;
};

}  // namespace tessera
