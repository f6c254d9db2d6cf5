#include "driver/sim_engines.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

// Work queued and not over, of all devices together; a GPU holds about a thousand launches.
constexpr std::size_t kMaxUnfinished = 8192;
constexpr const char* kEngineNames[kSimEngines] = {"compute", "inbound", "outbound", "host"};

Status unknown_handle(std::string_view kind, std::uint64_t handle) {
  return {Code::kDriver, fmt::format("there is no {} {:#x}", kind, handle), native::kInvalidHandle};
}

Status not_ready(std::string_view kind, std::uint64_t handle) {
  return {Code::kNotReady, fmt::format("work of {} {:#x} has not run yet", kind, handle),
          native::kNotReady};
}

// The program's own signals belong to its own threads; faults stay, they are a kernel's.
void block_signals_of_the_program() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    sigdelset(&signals, fault);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

}  // namespace

SimEngines::SimEngines(int devices, const Clock& clock) : clock_(clock), schedule_(devices) {
  for (int i = 0; i < devices; ++i) devices_.push_back(std::make_unique<Device>());
}

SimEngines::~SimEngines() {
  {
    MutexLock lock(mutex_);
    while (schedule_.unfinished() > 0) any_finished_.wait(mutex_);
    stopping_ = true;
    for (const auto& device : devices_) {
      for (Condition& ready : device->ready) ready.notify_all();
    }
  }
  for (const auto& device : devices_) {
    for (std::thread& thread : device->threads) {
      if (thread.joinable()) thread.join();
    }
  }
}

// ---- streams and events ----------------------------------------------------------------------

StreamId SimEngines::legacy(DeviceId device) {
  MutexLock lock(mutex_);
  return schedule_.legacy(device);
}

StreamId SimEngines::thread_stream(DeviceId device) {
  MutexLock lock(mutex_);
  std::vector<StreamId>& own = thread_streams_[std::this_thread::get_id()];
  own.resize(devices_.size());
  StreamId& stream = own[device.value()];
  if (stream == StreamId()) stream = schedule_.add_stream(device, SimStreamKind::kThread);
  return stream;
}

StreamId SimEngines::add_stream(DeviceId device, bool blocking) {
  MutexLock lock(mutex_);
  return schedule_.add_stream(device,
                              blocking ? SimStreamKind::kBlocking : SimStreamKind::kNonBlocking);
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
  const std::optional<DeviceId> device = schedule_.device_of(stream);
  if (!device) return unknown_handle("stream", stream.value());
  return *device;
}

Result<const SimSchedule::Event*> SimEngines::find(EventId event) const {
  const SimSchedule::Event* found = schedule_.find(event);
  if (found == nullptr) return unknown_handle("event", event.value());
  return found;
}

// ---- queueing --------------------------------------------------------------------------------

void SimEngines::wait_for_room() {
  MutexLock lock(mutex_);
  while (schedule_.unfinished() >= kMaxUnfinished) any_finished_.wait(mutex_);
}

Result<SimOp> SimEngines::submit(StreamId stream, SimEngine engine, SimWork work) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  TESSERA_TRY(error(device));
  TESSERA_TRY(start_threads(device));
  const SimOp op = schedule_.submit(stream, engine, clock_.now());
  works_.emplace(op, std::move(work));
  notify_ready();
  return op;
}

Status SimEngines::record(EventId event, StreamId stream) {
  MutexLock lock(mutex_);
  const Result<DeviceId> device = find(stream);
  if (!device.is_ok()) {
    return {Code::kNotFound, std::string(device.status().message()), native::kInvalidHandle};
  }
  TESSERA_TRY(find(event).status());
  TESSERA_TRY(error(device.value()));
  schedule_.record(event, stream, clock_.now());
  return {};
}

Status SimEngines::wait_event(StreamId stream, EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  TESSERA_TRY(find(event).status());
  TESSERA_TRY(error(device));
  schedule_.wait(stream, event, clock_.now());
  return {};
}

// ---- waiting and asking ----------------------------------------------------------------------

// The last first: of a stream's operations it ends last, so the waiter sleeps once.
void SimEngines::wait_all(const std::vector<SimOp>& ops) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    if (schedule_.is_finished(*op)) continue;
    const auto awaited = awaited_.insert(*op);
    while (!schedule_.is_finished(*op)) awaited_finished_.wait(mutex_);
    awaited_.erase(awaited);
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

Status SimEngines::synchronize(StreamId stream) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  wait_all(schedule_.pending(stream));
  return error(device);
}

Status SimEngines::synchronize(EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimSchedule::Event* const recorded, find(event));
  const DeviceId device = recorded->device;
  wait_all({recorded->op});
  return error(device);
}

Status SimEngines::query(StreamId stream) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const DeviceId device, find(stream));
  TESSERA_TRY(error(device));
  if (!schedule_.pending(stream).empty()) return not_ready("stream", stream.value());
  return {};
}

Status SimEngines::query(EventId event) {
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimSchedule::Event* const recorded, find(event));
  TESSERA_TRY(error(recorded->device));
  if (!schedule_.is_finished(recorded->op)) return not_ready("event", event.value());
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
    if (!schedule_.is_finished(recorded->op)) return not_ready("event", event.value());
    at[i] = static_cast<std::int64_t>(recorded->finished.value());
  }
  return at[1] - at[0];
}

Status SimEngines::check_untouched(const SimRange& range, std::string_view action) {
  MutexLock lock(mutex_);
  for (const auto& [op, work] : works_) {
    if (const auto touch = work.touch(range)) {
      return {Code::kDriver,
              fmt::format("{} of {} while queued work may touch it: {}", action, range.to_string(),
                          *touch),
              native::kInvalidValue};
    }
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

// ---- engine threads --------------------------------------------------------------------------

Status SimEngines::start_threads(DeviceId device) {
  Device& record = *devices_[device.value()];
  if (record.started) return {};
  try {
    for (std::size_t i = 0; i < kSimEngines; ++i) {
      if (record.threads[i].joinable()) continue;  // an earlier try got this far
      const auto engine = static_cast<SimEngine>(i);
      record.threads[i] = std::thread([this, device, engine] { run_engine(device, engine); });
    }
  } catch (const std::system_error& error) {
    return {Code::kOutOfMemory,
            fmt::format("no thread for an engine of device {}: {}", device.value(), error.what()),
            native::kOutOfMemory};
  }
  record.started = true;
  return {};
}

void SimEngines::run_engine(DeviceId device, SimEngine engine) {
  block_signals_of_the_program();
  const auto index = static_cast<std::size_t>(engine);
  pthread_setname_np(pthread_self(),
                     fmt::format("sim{}-{}", device.value(), kEngineNames[index]).c_str());
  Device& own = *devices_[device.value()];
  MutexLock lock(mutex_);
  while (true) {
    const std::optional<SimOp> op = schedule_.start(device, engine);
    if (!op) {
      if (stopping_) return;
      own.ready[index].wait(mutex_);
      continue;
    }
    const SimWork& work = works_.at(*op);  // stays where it is until it is taken out below
    const bool drop = !own.error.is_ok();
    mutex_.unlock();
    Status status = drop ? Status() : work.run(work);
    mutex_.lock();
    if (!status.is_ok() && own.error.is_ok()) own.error = std::move(status);
    const auto over = works_.extract(*op);
    schedule_.finish(*op, clock_.now());
    notify_ready();
    any_finished_.notify_all();
    wake_waiters();
    // What the work holds may belong to the caller: it goes without the lock.
    mutex_.unlock();
    { const auto gone = std::move(over.mapped()); }
    mutex_.lock();
  }
}

// Waking a thread costs a tenth of a page's copy: only those whose operation is over, or the marker
// behind it.
void SimEngines::wake_waiters() {
  const auto over = [this](SimOp op) { return schedule_.is_finished(op); };
  if (std::any_of(awaited_.begin(), awaited_.end(), over)) awaited_finished_.notify_all();
}

void SimEngines::notify_ready() {
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    for (std::size_t i = 0; i < kSimEngines; ++i) {
      if (schedule_.has_ready(DeviceId(device), static_cast<SimEngine>(i))) {
        devices_[device]->ready[i].notify_one();
      }
    }
  }
}

}  // namespace tessera
