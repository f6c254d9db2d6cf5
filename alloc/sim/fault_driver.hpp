// Wraps any driver and fails chosen calls, so that every error path can be tested.
//
// A failed call never reaches the driver below, so nothing has changed, as the contract demands.
//
// Thread safety: every call may be made from any thread.
//
// Invariants: total_calls() is the sum of calls() over all kinds; failed calls are counted too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "driver/driver_call.hpp"

namespace tessera {

class FaultDriver final : public Driver {
 public:
  struct Fault {
    std::optional<DriverCall> call;  // only calls of this kind count; any kind if empty
    std::uint64_t nth = 1;           // counted from now, starting at 1
    Status status;                   // returned to the caller
    bool from_then_on = false;       // also fails all later ones
  };

  // REQUIRES: `inner` outlives this.
  explicit FaultDriver(Driver& inner) : inner_(inner) {}

  // Replaces the previous fault. REQUIRES: !fault.status.is_ok(). device_count cannot fail.
  void fail(Fault fault) EXCLUDES_LOCK(mutex_);
  void clear() EXCLUDES_LOCK(mutex_);
  // Calls failed by the current fault.
  std::uint64_t failed() const EXCLUDES_LOCK(mutex_);
  std::uint64_t calls(DriverCall call) const EXCLUDES_LOCK(mutex_);
  std::uint64_t total_calls() const EXCLUDES_LOCK(mutex_);

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
  void count(DriverCall call) EXCLUDES_LOCK(mutex_);
  // Counts the call; an error if it is the one to fail.
  Status admit(DriverCall call) EXCLUDES_LOCK(mutex_);

  Driver& inner_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::array<std::uint64_t, kDriverCalls> calls_ GUARDED_BY(mutex_) = {};
  std::optional<Fault> fault_ GUARDED_BY(mutex_);
  std::uint64_t seen_ GUARDED_BY(mutex_) = 0;  // matching calls since the fault was set
  std::uint64_t failed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
