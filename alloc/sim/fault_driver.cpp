#include "sim/fault_driver.hpp"

#include <numeric>
#include <utility>

namespace tessera {

void FaultDriver::fail(Fault fault) {
  MutexLock lock(mutex_);
  fault_ = std::move(fault);
  seen_ = 0;
  failed_ = 0;
}

void FaultDriver::clear() {
  MutexLock lock(mutex_);
  fault_.reset();
}

std::uint64_t FaultDriver::failed() const {
  MutexLock lock(mutex_);
  return failed_;
}

std::uint64_t FaultDriver::calls(DriverCall call) const {
  MutexLock lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::uint64_t FaultDriver::total_calls() const {
  MutexLock lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

void FaultDriver::count(DriverCall call) {
  MutexLock lock(mutex_);
  ++calls_[static_cast<std::size_t>(call)];
}

Status FaultDriver::admit(DriverCall call) {
  count(call);
  MutexLock lock(mutex_);
  if (!fault_ || (fault_->call && *fault_->call != call)) return {};
  ++seen_;
  const bool hit = fault_->from_then_on ? seen_ >= fault_->nth : seen_ == fault_->nth;
  if (!hit) return {};
  ++failed_;
  return fault_->status;
}

int FaultDriver::device_count() {
  // A failure cannot be returned, so the call is counted and passed on.
  count(DriverCall::kDeviceCount);
  return inner_.device_count();
}

Result<DeviceProperties> FaultDriver::properties(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kProperties));
  return inner_.properties(device);
}

Result<MemoryInfo> FaultDriver::memory_info(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kMemoryInfo));
  return inner_.memory_info(device);
}

Status FaultDriver::synchronize(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeDevice));
  return inner_.synchronize(device);
}

Status FaultDriver::synchronize(DeviceId device, Nanoseconds limit) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeDevice));
  return inner_.synchronize(device, limit);
}

Result<Address> FaultDriver::reserve(Bytes bytes, Bytes alignment, Address hint) {
  TESSERA_TRY(admit(DriverCall::kReserve));
  return inner_.reserve(bytes, alignment, hint);
}

Status FaultDriver::release(Address address, Bytes bytes) {
  TESSERA_TRY(admit(DriverCall::kRelease));
  return inner_.release(address, bytes);
}

Result<FrameId> FaultDriver::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  TESSERA_TRY(admit(DriverCall::kCreateFrame));
  return inner_.create_frame(device, location, bytes);
}

Status FaultDriver::destroy_frame(FrameId frame) {
  TESSERA_TRY(admit(DriverCall::kDestroyFrame));
  return inner_.destroy_frame(frame);
}

Status FaultDriver::map(Address address, Bytes bytes, FrameId frame) {
  TESSERA_TRY(admit(DriverCall::kMap));
  return inner_.map(address, bytes, frame);
}

Status FaultDriver::set_access(Address address, Bytes bytes, DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kSetAccess));
  return inner_.set_access(address, bytes, device);
}

Status FaultDriver::unmap(Address address, Bytes bytes) {
  TESSERA_TRY(admit(DriverCall::kUnmap));
  return inner_.unmap(address, bytes);
}

Status FaultDriver::register_host(void* host, Bytes bytes) {
  TESSERA_TRY(admit(DriverCall::kRegisterHost));
  return inner_.register_host(host, bytes);
}

Status FaultDriver::unregister_host(void* host) {
  TESSERA_TRY(admit(DriverCall::kUnregisterHost));
  return inner_.unregister_host(host);
}

Result<StreamId> FaultDriver::create_stream(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kCreateStream));
  return inner_.create_stream(device);
}

Status FaultDriver::destroy_stream(StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kDestroyStream));
  return inner_.destroy_stream(stream);
}

Status FaultDriver::synchronize(StreamId stream, Nanoseconds limit) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeStream));
  return inner_.synchronize(stream, limit);
}

Status FaultDriver::synchronize(StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeStream));
  return inner_.synchronize(stream);
}

Status FaultDriver::wait_event(StreamId stream, EventId event) {
  TESSERA_TRY(admit(DriverCall::kWaitEvent));
  return inner_.wait_event(stream, event);
}

Result<EventId> FaultDriver::create_event(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kCreateEvent));
  return inner_.create_event(device);
}

Result<EventId> FaultDriver::create_timed_event(DeviceId device) {
  TESSERA_TRY(admit(DriverCall::kCreateTimedEvent));
  return inner_.create_timed_event(device);
}

Status FaultDriver::destroy_event(EventId event) {
  TESSERA_TRY(admit(DriverCall::kDestroyEvent));
  return inner_.destroy_event(event);
}

Status FaultDriver::record_event(EventId event, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kRecordEvent));
  return inner_.record_event(event, stream);
}

Status FaultDriver::query(EventId event) {
  TESSERA_TRY(admit(DriverCall::kQueryEvent));
  return inner_.query(event);
}

Status FaultDriver::synchronize(EventId event, Nanoseconds limit) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeEvent));
  return inner_.synchronize(event, limit);
}

Status FaultDriver::synchronize(EventId event) {
  TESSERA_TRY(admit(DriverCall::kSynchronizeEvent));
  return inner_.synchronize(event);
}

Result<std::int64_t> FaultDriver::elapsed(EventId start, EventId end) {
  TESSERA_TRY(admit(DriverCall::kElapsed));
  return inner_.elapsed(start, end);
}

Status FaultDriver::copy_in(Address to, const void* from, Bytes bytes, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kCopyIn));
  return inner_.copy_in(to, from, bytes, stream);
}

Status FaultDriver::copy_out(void* to, Address from, Bytes bytes, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kCopyOut));
  return inner_.copy_out(to, from, bytes, stream);
}

Status FaultDriver::copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kCopyAll));
  return inner_.copy_all(way, copies, stream);
}

Status FaultDriver::copy(Address to, Address from, Bytes bytes, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kCopy));
  return inner_.copy(to, from, bytes, stream);
}

Status FaultDriver::fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kFill));
  return inner_.fill(to, value, bytes, stream);
}

Status FaultDriver::launch(const Launch& launch, StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kLaunch));
  return inner_.launch(launch, stream);
}

Status FaultDriver::fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to,
                                StreamId stream) {
  TESSERA_TRY(admit(DriverCall::kFingerprint));
  return inner_.fingerprint(device, ranges, to, stream);
}

}  // namespace tessera
