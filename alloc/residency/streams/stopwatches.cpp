#include "residency/streams/stopwatches.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tessera {

Stopwatches::~Stopwatches() {
  MutexLock lock(mutex_);
  for (const Events& events : events_) {
    for (const EventId event : {events.start, events.stop}) {
      if (Status status = driver_.destroy_event(event); !status.is_ok()) {
        log_line(LogLevel::kDebug, "a stopwatch was not released: {}", status.to_string());
      }
    }
  }
}

Result<Stopwatches::Events> Stopwatches::make_events() {
  Events events;
  TESSERA_TRY_ASSIGN(events.start, driver_.create_timed_event(device_));
  Result<EventId> stop = driver_.create_timed_event(device_);
  if (stop.is_ok()) {
    events.stop = stop.value();
    return events;
  }
  TESSERA_TRY(driver_.destroy_event(events.start));
  return stop.status();
}

std::optional<Stopwatches::Watch> Stopwatches::start(StreamId stream) {
  MutexLock lock(mutex_);
  if (spare_.empty()) {
    if (events_.size() == capacity_) return std::nullopt;
    const Result<Events> made = make_events();
    if (!made.is_ok()) return std::nullopt;
    spare_.push_back(static_cast<Watch>(events_.size()));
    events_.push_back(made.value());
  }
  const Watch watch = spare_.back();
  if (!driver_.record_event(events_[watch].start, stream).is_ok()) return std::nullopt;
  spare_.pop_back();
  events_[watch].stopped = events_[watch].failed = false;
  return watch;
}

bool Stopwatches::stop(Watch watch, StreamId stream) {
  MutexLock lock(mutex_);
  Events& events = events_[watch];
  events.stopped = driver_.record_event(events.stop, stream).is_ok();
  events.failed = !events.stopped;
  return events.stopped;
}

Result<Nanoseconds> Stopwatches::read(Watch watch) {
  MutexLock lock(mutex_);
  const Events& events = events_[watch];
  if (events.failed) {
    spare_.push_back(watch);
    return Status(Code::kDriver, "the stopwatch was not stopped");
  }
  if (!events.stopped) return Status(Code::kNotReady, "the stopwatch is running");
  const Status over = driver_.query(events.stop);
  if (over.code() == Code::kNotReady) return over;
  spare_.push_back(watch);
  TESSERA_TRY(over);
  const Result<std::int64_t> time = driver_.elapsed(events.start, events.stop);
  if (!time.is_ok()) return time.status();
  return Nanoseconds(static_cast<std::uint64_t>(std::max<std::int64_t>(time.value(), 0)));
}

void Stopwatches::give_back(Watch watch) {
  MutexLock lock(mutex_);
  spare_.push_back(watch);
}

}  // namespace tessera
