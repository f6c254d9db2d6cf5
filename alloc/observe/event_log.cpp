#include "observe/event_log.hpp"

#include "base/check.hpp"

namespace tessera {

const char* name_of(EventKind kind) {
  constexpr const char* kNames[] = {"fetch",   "evict",   "file_read", "file_write",
                                    "forward", "discard", "stall",     "mark"};
  return kNames[static_cast<std::size_t>(kind)];
}

EventLog::EventLog(const Clock& clock, std::size_t capacity) : clock_(clock), capacity_(capacity) {
  DCHECK(capacity > 0);
}

void EventLog::record(const Event& event) {
  const MutexLock lock(mutex_);
  // The ring grows to its bound as it is used: a quiet program pays for what it did.
  if (ring_.size() < capacity_) {
    ring_.push_back(event);
  } else {
    ring_[recorded_ % capacity_] = event;
  }
  ++recorded_;
}

void EventLog::record(EventKind kind, DeviceId device, Nanoseconds begin, Address address,
                      Bytes bytes) {
  record({kind, static_cast<std::uint16_t>(device.value()), begin, now(), address, bytes});
}

std::vector<Event> EventLog::events() const {
  const MutexLock lock(mutex_);
  const std::size_t oldest = recorded_ > capacity_ ? recorded_ % capacity_ : 0;
  std::vector<Event> in_order;
  in_order.reserve(ring_.size());
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    in_order.push_back(ring_[(oldest + i) % ring_.size()]);
  }
  return in_order;
}

std::uint64_t EventLog::lost() const {
  const MutexLock lock(mutex_);
  return recorded_ > capacity_ ? recorded_ - capacity_ : 0;
}

}  // namespace tessera
