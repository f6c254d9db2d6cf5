#include "sim/trace_driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace tessera {
namespace {

// Every operand and result as a number.
template <class Tag>
std::uint64_t number(Id<Tag> id) {
  return id.value();
}
template <class Tag>
std::uint64_t number(Amount<Tag> amount) {
  return amount.value();
}
std::uint64_t number(Address address) { return address.value(); }
std::uint64_t number(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }
std::uint64_t number(FrameLocation location) { return static_cast<std::uint64_t>(location); }
std::uint64_t number(std::uint8_t value) { return value; }
std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t number(const DeviceProperties& properties) { return properties.total_memory.value(); }
std::uint64_t number(const MemoryInfo& info) { return info.free.value(); }

}  // namespace

std::string DriverRecord::to_string() const {
  std::string text = fmt::format("{}({:#x}, {:#x}, {:#x}, {:#x}) = {}", name_of(call), operands[0], operands[1],
                                 operands[2], operands[3], name_of(code));
  if (native_code != 0) text += fmt::format(" {}", native_code);
  if (result != 0) text += fmt::format(", {:#x}", result);
  return text;
}

std::vector<DriverRecord> TraceDriver::records() const {
  MutexLock lock(mutex_);
  return {records_.begin(), records_.end()};
}

std::vector<DriverRecord> TraceDriver::records_of(std::thread::id thread) const {
  MutexLock lock(mutex_);
  std::vector<DriverRecord> records;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (threads_[i] == thread) records.push_back(records_[i]);
  }
  return records;
}

std::uint64_t TraceDriver::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

void TraceDriver::clear() {
  MutexLock lock(mutex_);
  records_.clear();
  threads_.clear();
  dropped_ = 0;
}

void TraceDriver::note(DriverCall call, Operands operands, const Status& status, std::uint64_t result) {
  DriverRecord record{
      .call = call, .operands = {}, .code = status.code(), .native_code = status.native_code(), .result = result};
  std::copy_n(operands.begin(), std::min(operands.size(), record.operands.size()), record.operands.begin());
  MutexLock lock(mutex_);
  if (records_.size() == capacity_) {
    records_.pop_front();
    threads_.pop_front();
    ++dropped_;
  }
  records_.push_back(record);
  threads_.push_back(std::this_thread::get_id());
}

Status TraceDriver::noted(DriverCall call, Operands operands, Status status) {
  note(call, operands, status, 0);
  return status;
}

template <class T>
Result<T> TraceDriver::noted(DriverCall call, Operands operands, Result<T> result) {
  note(call, operands, result.status(), result.is_ok() ? number(result.value()) : 0);
  return result;
}

int TraceDriver::device_count() {
  const int count = inner_.device_count();
  note(DriverCall::kDeviceCount, {}, {}, static_cast<std::uint64_t>(count));
  return count;
}

Result<DeviceProperties> TraceDriver::properties(DeviceId device) {
  return noted(DriverCall::kProperties, {number(device)}, inner_.properties(device));
}

Result<MemoryInfo> TraceDriver::memory_info(DeviceId device) {
  return noted(DriverCall::kMemoryInfo, {number(device)}, inner_.memory_info(device));
}

Status TraceDriver::synchronize(DeviceId device) {
  return noted(DriverCall::kSynchronizeDevice, {number(device)}, inner_.synchronize(device));
}

Status TraceDriver::synchronize(DeviceId device, Nanoseconds limit) {
  return noted(DriverCall::kSynchronizeDevice, {number(device), limit.value()}, inner_.synchronize(device, limit));
}

Result<Address> TraceDriver::reserve(Bytes bytes, Bytes alignment, Address hint) {
  return noted(DriverCall::kReserve, {number(bytes), number(alignment), number(hint)},
               inner_.reserve(bytes, alignment, hint));
}

Status TraceDriver::release(Address address, Bytes bytes) {
  return noted(DriverCall::kRelease, {number(address), number(bytes)}, inner_.release(address, bytes));
}

Result<FrameId> TraceDriver::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  return noted(DriverCall::kCreateFrame, {number(device), number(location), number(bytes)},
               inner_.create_frame(device, location, bytes));
}

Status TraceDriver::destroy_frame(FrameId frame) {
  return noted(DriverCall::kDestroyFrame, {number(frame)}, inner_.destroy_frame(frame));
}

Status TraceDriver::map(Address address, Bytes bytes, FrameId frame) {
  return noted(DriverCall::kMap, {number(address), number(bytes), number(frame)}, inner_.map(address, bytes, frame));
}

Status TraceDriver::set_access(Address address, Bytes bytes, DeviceId device) {
  return noted(DriverCall::kSetAccess, {number(address), number(bytes), number(device)},
               inner_.set_access(address, bytes, device));
}

Status TraceDriver::unmap(Address address, Bytes bytes) {
  return noted(DriverCall::kUnmap, {number(address), number(bytes)}, inner_.unmap(address, bytes));
}

Status TraceDriver::register_host(void* host, Bytes bytes) {
  return noted(DriverCall::kRegisterHost, {number(host), number(bytes)}, inner_.register_host(host, bytes));
}

Status TraceDriver::unregister_host(void* host) {
  return noted(DriverCall::kUnregisterHost, {number(host)}, inner_.unregister_host(host));
}

Result<StreamId> TraceDriver::create_stream(DeviceId device) {
  return noted(DriverCall::kCreateStream, {number(device)}, inner_.create_stream(device));
}

Status TraceDriver::destroy_stream(StreamId stream) {
  return noted(DriverCall::kDestroyStream, {number(stream)}, inner_.destroy_stream(stream));
}

Status TraceDriver::synchronize(StreamId stream, Nanoseconds limit) {
  return noted(DriverCall::kSynchronizeStream, {number(stream), limit.value()}, inner_.synchronize(stream, limit));
}

Status TraceDriver::synchronize(StreamId stream) {
  return noted(DriverCall::kSynchronizeStream, {number(stream)}, inner_.synchronize(stream));
}

Status TraceDriver::wait_event(StreamId stream, EventId event) {
  return noted(DriverCall::kWaitEvent, {number(stream), number(event)}, inner_.wait_event(stream, event));
}

Result<EventId> TraceDriver::create_event(DeviceId device) {
  return noted(DriverCall::kCreateEvent, {number(device)}, inner_.create_event(device));
}

Result<EventId> TraceDriver::create_timed_event(DeviceId device) {
  return noted(DriverCall::kCreateTimedEvent, {number(device)}, inner_.create_timed_event(device));
}

Status TraceDriver::destroy_event(EventId event) {
  return noted(DriverCall::kDestroyEvent, {number(event)}, inner_.destroy_event(event));
}

Status TraceDriver::record_event(EventId event, StreamId stream) {
  return noted(DriverCall::kRecordEvent, {number(event), number(stream)}, inner_.record_event(event, stream));
}

Status TraceDriver::query(EventId event) {
  return noted(DriverCall::kQueryEvent, {number(event)}, inner_.query(event));
}

Status TraceDriver::synchronize(EventId event, Nanoseconds limit) {
  return noted(DriverCall::kSynchronizeEvent, {number(event), limit.value()}, inner_.synchronize(event, limit));
}

Status TraceDriver::synchronize(EventId event) {
  return noted(DriverCall::kSynchronizeEvent, {number(event)}, inner_.synchronize(event));
}

Result<std::int64_t> TraceDriver::elapsed(EventId start, EventId end) {
  return noted(DriverCall::kElapsed, {number(start), number(end)}, inner_.elapsed(start, end));
}

Status TraceDriver::copy_in(Address to, const void* from, Bytes bytes, StreamId stream) {
  return noted(DriverCall::kCopyIn, {number(to), number(from), number(bytes), number(stream)},
               inner_.copy_in(to, from, bytes, stream));
}

Status TraceDriver::copy_out(void* to, Address from, Bytes bytes, StreamId stream) {
  return noted(DriverCall::kCopyOut, {number(to), number(from), number(bytes), number(stream)},
               inner_.copy_out(to, from, bytes, stream));
}

Status TraceDriver::copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) {
  Bytes bytes;
  for (const HostCopy& copy : copies) bytes += copy.bytes;
  return noted(DriverCall::kCopyAll, {static_cast<std::uint64_t>(way), copies.size(), number(bytes), number(stream)},
               inner_.copy_all(way, copies, stream));
}

Status TraceDriver::copy(Address to, Address from, Bytes bytes, StreamId stream) {
  return noted(DriverCall::kCopy, {number(to), number(from), number(bytes), number(stream)},
               inner_.copy(to, from, bytes, stream));
}

Status TraceDriver::fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) {
  return noted(DriverCall::kFill, {number(to), number(value), number(bytes), number(stream)},
               inner_.fill(to, value, bytes, stream));
}

Status TraceDriver::launch(const Launch& launch, StreamId stream) {
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  return noted(DriverCall::kLaunch, {number(launch.kernel), number(stream), blocks, launch.parameters.size()},
               inner_.launch(launch, stream));
}

Status TraceDriver::fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to,
                                StreamId stream) {
  Bytes bytes;
  for (const DeviceRange& range : ranges) bytes += range.bytes;
  return noted(DriverCall::kFingerprint, {ranges.size(), number(bytes), number(to), number(stream)},
               inner_.fingerprint(device, ranges, to, stream));
}

}  // namespace tessera
