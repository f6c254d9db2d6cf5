// Wraps any driver and records each call as a value: its operands and its result.
//
// Records can be compared and printed, so a test can state the complete sequence of calls that it expects, and a report
// can show the last calls before an error.
//
// Thread safety: every call may be made from any thread; records of several threads are in the
// order in which their calls returned.
//
// Invariants: records() has at most `capacity` entries, the newest ones; older ones are counted by
// dropped().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "driver/driver_call.hpp"

namespace tessera {

struct DriverRecord {
  DriverCall call = DriverCall::kDeviceCount;
  // In the order of the call's parameters, padded with zero. A launch: kernel, stream, blocks, bytes of parameters.
  // Several copies: direction, number, total bytes, stream.
  std::array<std::uint64_t, 4> operands = {};
  Code code = Code::kOk;
  int native_code = 0;
  std::uint64_t result = 0;  // the address, handle or count that was returned

  bool operator==(const DriverRecord&) const = default;
  // "map(0x1000, 0x200000, 0x10, 0x0) = ok"
  std::string to_string() const;
};

class TraceDriver final : public Driver {
 public:
  // REQUIRES: `inner` outlives this; capacity is not zero.
  explicit TraceDriver(Driver& inner, std::size_t capacity = 4096) : inner_(inner), capacity_(capacity) {}

  std::vector<DriverRecord> records() const EXCLUDES_LOCK(mutex_);
  // Records of calls by this thread. REQUIRES: no thread that made calls has ended, as thread ids are reused.
  std::vector<DriverRecord> records_of(std::thread::id thread) const EXCLUDES_LOCK(mutex_);
  std::uint64_t dropped() const EXCLUDES_LOCK(mutex_);
  void clear() EXCLUDES_LOCK(mutex_);

  int device_count() override;
  Result<DeviceProperties> properties(DeviceId device) override;
  Result<MemoryInfo> memory_info(DeviceId device) override;
  Status synchronize(DeviceId device) override;
  Status synchronize(DeviceId device, Nanoseconds limit) override;
  Result<Address> reserve(Bytes bytes, Bytes alignment, Address hint = {}) override;
  Status release(Address address, Bytes bytes) override;
  Result<FrameId> create_frame(DeviceId device, FrameLocation location, Bytes bytes) override;
  Status destroy_frame(FrameId frame) override;
  Status map(Address address, Bytes bytes, FrameId frame) override;
  Status set_access(Address address, Bytes bytes, DeviceId device) override;
  Status unmap(Address address, Bytes bytes) override;
  Status register_host(void* host, Bytes bytes) override;
  Status unregister_host(void* host) override;
  Result<StreamId> create_stream(DeviceId device) override;
  Status destroy_stream(StreamId stream) override;
  Status synchronize(StreamId stream) override;
  Status synchronize(StreamId stream, Nanoseconds limit) override;
  Status wait_event(StreamId stream, EventId event) override;
  Result<EventId> create_event(DeviceId device) override;
  Result<EventId> create_timed_event(DeviceId device) override;
  Status destroy_event(EventId event) override;
  Status record_event(EventId event, StreamId stream) override;
  Status query(EventId event) override;
  Status synchronize(EventId event) override;
  Status synchronize(EventId event, Nanoseconds limit) override;
  Result<std::int64_t> elapsed(EventId start, EventId end) override;
  Status copy_in(Address to, const void* from, Bytes bytes, StreamId stream) override;
  Status copy_out(void* to, Address from, Bytes bytes, StreamId stream) override;
  Status copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) override;
  Status copy(Address to, Address from, Bytes bytes, StreamId stream) override;
  Status fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) override;
  Status launch(const Launch& launch, StreamId stream) override;
  Status fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) override;

 private:
  using Operands = std::initializer_list<std::uint64_t>;
  void note(DriverCall call, Operands operands, const Status& status, std::uint64_t result) EXCLUDES_LOCK(mutex_);
  Status noted(DriverCall call, Operands operands, Status status);
  template <class T>
  Result<T> noted(DriverCall call, Operands operands, Result<T> result);

  Driver& inner_;
  const std::size_t capacity_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::deque<DriverRecord> records_ GUARDED_BY(mutex_);
  std::deque<std::thread::id> threads_ GUARDED_BY(mutex_);  // the threads that made the calls
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
