#include "streams.hpp"

#include <cstdio>
#include <cstdlib>

#include "default_stream.hpp"
#include "driver/native_codes.hpp"

namespace tessera::softcuda {
namespace {

StreamId raw_id(CUstream stream) { return StreamId(reinterpret_cast<std::uint64_t>(stream)); }

Status no_such(const char* thing) {
  return Status(Code::kDriver, std::string("no such ") + thing, native::kInvalidHandle);
}

[[noreturn]] void end_for_use_of(CUstream destroyed) {
  (void)std::fprintf(stderr, "softcuda: stream %p was used after cuStreamDestroy\n", static_cast<void*>(destroyed));
  std::abort();
}

}  // namespace

Result<StreamId> Streams::resolve(CUstream handle) {
  if (handle == nullptr) return PerThreadDefaultStream::in_force() ? kPerThreadStream : kLegacyStream;
  if (handle == CU_STREAM_LEGACY) return kLegacyStream;
  if (handle == CU_STREAM_PER_THREAD) return kPerThreadStream;
  const MutexLock lock(mutex_);
  if (streams_.contains(raw_id(handle))) return raw_id(handle);
  if (destroyed_.contains(raw_id(handle).value())) end_for_use_of(handle);
  return no_such("stream");
}

Result<StreamId> Streams::create(Context& context, unsigned flags, int priority) {
  const bool blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  TESSERA_TRY_ASSIGN(const StreamId id, driver_.create_stream(context.device, blocking));
  const MutexLock lock(mutex_);
  streams_[id] = {.context = &context, .flags = flags, .priority = priority};
  return id;
}

Status Streams::destroy(CUstream handle) {
  {
    const MutexLock lock(mutex_);
    if (streams_.erase(raw_id(handle)) == 0) return no_such("stream");
    destroyed_.insert(raw_id(handle).value());
  }
  return driver_.destroy_stream(raw_id(handle));
}

Status Streams::end(StreamId stream) {
  {
    const MutexLock lock(mutex_);
    streams_.erase(stream);
  }
  return driver_.destroy_stream(stream);
}

std::optional<StreamInfo> Streams::find(CUstream handle) {
  const MutexLock lock(mutex_);
  const auto found = streams_.find(raw_id(handle));
  if (found == streams_.end()) return std::nullopt;
  return found->second;
}

Result<EventId> Streams::create_event(Context& context, unsigned flags) {
  EventInfo info{.context = &context, .flags = flags};
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    TESSERA_TRY_ASSIGN(info.shared, SharedEvent::make());
  }
  return add_event(context, info);
}

Result<EventId> Streams::add_event(Context& context, const EventInfo& info) {
  TESSERA_TRY_ASSIGN(const EventId id, driver_.create_event(context.device));
  const MutexLock lock(mutex_);
  events_[id] = info;
  return id;
}

Status Streams::destroy_event(CUevent handle) {
  {
    const MutexLock lock(mutex_);
    if (events_.erase(id_of(handle)) == 0) return no_such("event");
  }
  return driver_.destroy_event(id_of(handle));
}

Result<EventInfo> Streams::find_event(CUevent handle) {
  const MutexLock lock(mutex_);
  const auto found = events_.find(id_of(handle));
  if (found == events_.end()) return no_such("event");
  return found->second;
}

// The driver's own event is recorded in either case: it reports errors of earlier work.
Status Streams::record(CUevent event, StreamId stream) {
  TESSERA_TRY_ASSIGN(const EventInfo info, find_event(event));
  if (info.shared) TESSERA_TRY(info.shared->record(driver_, stream));
  return driver_.record_event(id_of(event), stream);
}

Status Streams::wait(StreamId stream, CUevent event) {
  TESSERA_TRY_ASSIGN(const EventInfo info, find_event(event));
  return info.shared ? info.shared->wait(driver_, stream) : driver_.wait_event(stream, id_of(event));
}

Status Streams::query(CUevent event) {
  TESSERA_TRY_ASSIGN(const EventInfo info, find_event(event));
  Status own = driver_.query(id_of(event));
  if (!info.shared || (!own.is_ok() && own.code() != Code::kNotReady)) return own;
  return info.shared->passed() ? Status() : Status(Code::kNotReady, "another process's event", native::kNotReady);
}

Status Streams::synchronize(CUevent event) {
  TESSERA_TRY_ASSIGN(const EventInfo info, find_event(event));
  if (!info.shared) return driver_.synchronize(id_of(event));
  for (;;) {
    const Status state = query(event);
    if (state.code() != Code::kNotReady) return state;
    info.shared->sleep(std::chrono::milliseconds(20));
  }
}

Status Streams::clear(const Context* context) {
  std::vector<StreamId> streams;
  std::vector<CUevent> events;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, info] : streams_) {
      if (info.context == context) streams.push_back(id);
    }
    for (const auto& [id, info] : events_) {
      if (info.context == context) events.push_back(handle_of(id));
    }
  }
  Status first;
  for (const StreamId stream : streams) {
    if (Status status = end(stream); !status.is_ok()) first = status;
  }
  for (CUevent event : events) {
    if (Status status = destroy_event(event); !status.is_ok()) first = status;
  }
  return first;
}

}  // namespace tessera::softcuda
