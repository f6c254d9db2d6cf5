// What happened to pages, as a bounded ring of values: the source of the timeline.
//
// Old events are overwritten, never waited for; `lost()` counts them, so a picture that is not
// whole says so.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"
#include "observe/stall_cause.hpp"

namespace tessera {

enum class EventKind : std::uint8_t {
  kFetch,      // host to device
  kEvict,      // device to host
  kFileRead,   // file to host
  kFileWrite,  // host to file
  kForward,    // a page-out dropped, the page had been used again
  kDiscard,    // a page left without moving a byte
  kStall,      // a call of the program waited for a move
  kMark,       // the program's own mark; bytes is its number
};

const char* name_of(EventKind kind);

struct Event {
  EventKind kind = EventKind::kMark;
  std::uint16_t device = 0;
  Nanoseconds begin;
  Nanoseconds end;
  Address address;
  Bytes bytes;
  StallCause cause = StallCause::kMapping;  // of a stall: what took most of it
};

class EventLog {
 public:
  // Keeps the last `capacity` events. REQUIRES: capacity > 0.
  EventLog(const Clock& clock, std::size_t capacity);

  Nanoseconds now() const { return clock_.now(); }
  void record(const Event& event);
  // An event that ends now.
  void record(EventKind kind, DeviceId device, Nanoseconds begin, Address address, Bytes bytes);
  // Oldest first.
  std::vector<Event> events() const;
  std::uint64_t lost() const;

 private:
  const Clock& clock_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::vector<Event> ring_ GUARDED_BY(mutex_);
  std::uint64_t recorded_ GUARDED_BY(mutex_) = 0;
  const std::size_t capacity_;
};

}  // namespace tessera
