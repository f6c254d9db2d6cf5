#include "api/stream_join.hpp"

#include "base/log.hpp"

namespace tessera {

StreamJoin::~StreamJoin() {
  const MutexLock lock(mutex_);
  if (!started_) return;
  for (const Status& status : {driver_.destroy_event(event_), driver_.destroy_stream(stream_)}) {
    if (!status.is_ok()) log_line(LogLevel::kDebug, "a stream join was abandoned: {}", status.to_string());
  }
}

Status StreamJoin::start() {
  if (started_) return {};
  TESSERA_TRY_ASSIGN(event_, driver_.create_event(device_));
  Result<StreamId> stream = driver_.create_stream(device_);
  if (!stream.is_ok()) {
    TESSERA_TRY(driver_.destroy_event(event_));
    return stream.status();
  }
  stream_ = stream.value();
  started_ = true;
  return {};
}

// One event serves all: a wait refers to the last record before it.
Result<StreamId> StreamJoin::behind(std::span<const StreamId> streams) {
  const MutexLock lock(mutex_);
  TESSERA_TRY(start());
  for (const StreamId stream : streams) {
    TESSERA_TRY(driver_.record_event(event_, stream));
    TESSERA_TRY(driver_.wait_event(stream_, event_));
  }
  return stream_;
}

}  // namespace tessera
