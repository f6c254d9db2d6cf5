#include "sim/sim_engines.hpp"

#include <utility>

#include <fmt/core.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

// Unfinished work of all devices and streams together.
constexpr std::size_t kMaxUnfinished = 8192;

Status unknown_handle(std::string_view kind, std::uint64_t handle) {
  return {Code::kDriver, fmt::format("no such {}: {:#x}", kind, handle), native::kInvalidHandle};
}

}  // namespace

SimEngines::SimEngines(int devices, const Clock& clock, std::size_t queue_depth)
    : clock_(clock),
      schedule_(devices),
      device_count_(static_cast<std::size_t>(devices)),
      queue_depth_(queue_depth),
      not_ready_(Code::kNotReady, "queued work has not run yet", native::kNotReady),
      errors_(device_count_) {}

// ---- streams and events ----------------------------------------------------------------------

StreamId SimEngines::legacy(DeviceId device) {
  MutexLock lock(mutex_);
  return schedule_.legacy(device);
}

StreamId SimEngines::thread_stream(DeviceId device) {
  MutexLock lock(mutex_);
  std::vector<StreamId>& own = thread_streams_[std::this_thread::get_id()];
  own.resize(device_count_);
  StreamId& stream = own[device.value()];
  if (stream == StreamId()) stream = schedule_.add_stream(device, SimStreamKind::kThread);
  return stream;
}

StreamId SimEngines::add_stream(DeviceId device, bool blocking) {
  MutexLock lock(mutex_);
  return schedule_.add_stream(device, blocking ? SimStreamKind::kBlocking : SimStreamKind::kNonBlocking);
}

Status SimEngines::remove_stream(StreamId stream) {
  MutexLock lock(mutex_);
  if (!schedule_.remove_stream(stream)) return unknown_handle("stream", stream.value());
  return {};
}

Result<DeviceId> SimEngines::device_of(StreamId stream) {
  MutexLock lock(mutex_);
  return find(stream);
}

EventId SimEngines::add_event(DeviceId device) {
  MutexLock lock(mutex_);
  return schedule_.add_event(device);
}

Status SimEngines::remove_event(EventId event) {
  MutexLock lock(mutex_);
  if (!schedule_.remove_event(event)) return unknown_handle("event", event.value());
  return {};
}

Result<DeviceId> SimEngines::find(StreamId stream) const {
  const DeviceId* const device = schedule_.device_of(stream);
  if (device == nullptr) return unknown_handle("stream", stream.value());
  return *device;
}

Result<const SimSchedule::Event*> SimEngines::find(EventId event) const {
  const SimSchedule::Event* found = schedule_.find(event);
  if (found == nullptr) return unknown_handle("event", event.value());
  return found;
}

// ---- queueing --------------------------------------------------------------------------------

void SimEngines::wait_for_room(StreamId stream) {
  const std::size_t unfinished = unfinished_.load(std::memory_order_relaxed);
  const bool deep = queue_depth_ != 0 && unfinished >= queue_depth_;
  if (unfinished < kMaxUnfinished && !deep) return;
  MutexLock lock(mutex_);
  while (schedule_.unfinished() >= kMaxUnfinished) await_progress();
  while (queue_depth_ != 0 && schedule_.unfinished(stream) >= queue_depth_) await_progress();
}

Result<SimOp> SimEngines::submit(StreamId stream, SimEngine engine, SimWork work, std::optional<DeviceId> of) {
  MutexLock lock(mutex_);
  const DeviceId* const known = schedule_.device_of(stream);
  if (known == nullptr) return unknown_handle("stream", stream.value());
  const DeviceId device = *known;
  TESSERA_TRY(error(device));
  TESSERA_TRY(prepare(of.value_or(device), engine));
  const SimOp op = schedule_.submit(stream, engine, clock_.now(), of);
  const std::size_t slot = SimSchedule::slot_of(op);
  if (slot >= works_.size()) works_.resize(slot + 1);
  works_[slot] = std::move(work);
  start_ready();
  note_unfinished();
  return op;
}

Status SimEngines::record(EventId event, StreamId stream) {
  MutexLock lock(mutex_);
  const DeviceId* const device = schedule_.device_of(stream);
  if (device == nullptr) {
    return {Code::kNotFound, std::string(unknown_handle("stream", stream.value()).message()), native::kInvalidHandle};
  }
  const SimSchedule::Event* const known = schedule_.find(event);
  if (known == nullptr) return unknown_handle("event", event.value());
  if (known->device != *device) {
    return {Code::kNotFound, "an event of one device cannot be recorded on another's stream", native::kInvalidHandle};
  }
  TESSERA_TRY(error(*device));
  schedule_.record(event, stream, clock_.now());
  note_unfinished();
  return {};
}

Status SimEngines::record_all(EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimSchedule::Event* const known, find(event));
  TESSERA_TRY(error(known->device));
  schedule_.record_all(event, clock_.now());
  note_unfinished();
  return {};
}

Status SimEngines::wait_event(StreamId stream, EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  TESSERA_TRY(find(event).status());
  TESSERA_TRY(error(device));
  schedule_.wait(stream, event, clock_.now());
  note_unfinished();
  return {};
}

// ---- waiting and polling ---------------------------------------------------------------------

// The last first: it is the last of its stream to end, so the waiting thread sleeps once.
void SimEngines::wait_all(const std::vector<SimOp>& ops) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    if (!schedule_.is_finished(*op)) await(*op);
  }
}

Status SimEngines::wait(DeviceId device, SimOp op) {
  MutexLock lock(mutex_);
  wait_all({op});
  return error(device);
}

Status SimEngines::synchronize(DeviceId device) {
  MutexLock lock(mutex_);
  wait_all(schedule_.pending(device));
  return error(device);
}

Status SimEngines::synchronize(DeviceId device, Nanoseconds limit) {
  MutexLock lock(mutex_);
  const Nanoseconds until = clock_.now() + limit;
  for (const SimOp op : schedule_.pending(device)) {
    if (!schedule_.is_finished(op)) await(op, until);
    if (!schedule_.is_finished(op)) return not_ready_;
  }
  return error(device);
}

Status SimEngines::synchronize(StreamId stream) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  wait_all(schedule_.pending(stream));
  return error(device);
}

Status SimEngines::synchronize(StreamId stream, Nanoseconds limit) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  const Nanoseconds until = clock_.now() + limit;
  for (const SimOp op : schedule_.pending(stream)) {
    if (!schedule_.is_finished(op)) await(op, until);
    if (!schedule_.is_finished(op)) return not_ready_;
  }
  return error(device);
}

Status SimEngines::synchronize(EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimSchedule::Event* const recorded, find(event));
  const DeviceId device = recorded->device;
  const SimOp op = recorded->op;
  if (!schedule_.is_finished(op)) await(op);
  return error(device);
}

Status SimEngines::synchronize(EventId event, Nanoseconds limit) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimSchedule::Event* const recorded, find(event));
  const DeviceId device = recorded->device;
  const SimOp op = recorded->op;
  if (!schedule_.is_finished(op)) await(op, clock_.now() + limit);
  if (!schedule_.is_finished(op)) return not_ready_;
  return error(device);
}

Status SimEngines::query(StreamId stream) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  TESSERA_TRY(error(device));
  if (!schedule_.pending(stream).empty()) return not_ready_;
  return {};
}

Status SimEngines::query(EventId event) {
  MutexLock lock(mutex_);
  const SimSchedule::Event* const recorded = schedule_.find(event);
  if (recorded == nullptr) return unknown_handle("event", event.value());
  TESSERA_TRY(error(recorded->device));
  if (!recorded->over) return not_ready_;
  return {};
}

Result<std::int64_t> SimEngines::elapsed(EventId a, EventId b) {
  MutexLock lock(mutex_);
  std::int64_t at[2] = {};
  for (int i = 0; i < 2; ++i) {
    const EventId event = i == 0 ? a : b;
    TESSERA_TRY_ASSIGN(const SimSchedule::Event* const recorded, find(event));
    if (!recorded->recorded) {
      return Status(Code::kDriver, fmt::format("event {:#x} was never recorded", event.value()),
                    native::kInvalidHandle);
    }
    if (!recorded->over) return not_ready_;
    at[i] = static_cast<std::int64_t>(recorded->finished.value());
  }
  return at[1] - at[0];
}

Status SimEngines::check_untouched(const SimRange& range, std::string_view action) {
  MutexLock lock(mutex_);
  for (const std::optional<SimWork>& work : works_) {
    if (!work || !work->touches(range)) continue;
    return {Code::kDriver,
            fmt::format("{} of {} while queued work may touch it: {}", action, range.to_string(),
                        work->touch(range).value_or(work->name)),
            native::kInvalidValue};
  }
  return {};
}

std::vector<std::string> SimEngines::leaks() {
  MutexLock lock(mutex_);
  std::vector<std::string> lines;
  for (const StreamId stream : schedule_.owned_streams()) {
    lines.push_back(fmt::format("stream {:#x}", stream.value()));
  }
  for (const EventId event : schedule_.events()) {
    lines.push_back(fmt::format("event {:#x}", event.value()));
  }
  return lines;
}

// ---- carrying out ----------------------------------------------------------------------------

void SimEngines::run(SimOp op) {
  const DeviceId device = schedule_.device_of(op);
  const SimWork& own = work(op);  // its address is stable until retire()
  if (!error(device).is_ok() || !own.run) return;
  mutex_.unlock();
  Status status = own.run(own);
  mutex_.lock();
  Status& first = errors_[device.value()];
  if (!status.is_ok() && first.is_ok()) first = std::move(status);
}

void SimEngines::retire(SimOp op) {
  std::optional<SimWork>& own = works_[SimSchedule::slot_of(op)];
  std::optional<SimWork> over;
  if (own->run || own->keeps) {
    over = std::exchange(own, std::nullopt);
  } else {
    own.reset();
  }
  schedule_.finish(op, clock_.now());
  start_ready();
  note_unfinished();
  if (!over) return;
  // What the work holds may belong to the caller, so it is destroyed without the lock.
  mutex_.unlock();
  { const auto gone = std::move(*over); }
  mutex_.lock();
}

}  // namespace tessera
