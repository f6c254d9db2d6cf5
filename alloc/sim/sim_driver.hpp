// A strict CUDA device in software: implements driver.hpp in real or in virtual time, with or without real bytes
// (sim_options.hpp).
//
// Real bytes are in one memfd per device and mapped with mmap, so accessing an address without a mapping is a real
// SIGSEGV. Each device has a compute engine, an inbound and an outbound copy engine, the same two again for copies
// between devices, and one for host functions (SimEngines: threads, or an event queue), which run the work that a pure
// scheduler (SimSchedule) releases. A copy between two devices takes only an engine of the stream's device. Stricter
// than a GPU: what a GPU leaves undefined is an error here, with a message that names both operands.
//
// Thread safety: every call may be made from any thread.
//
// Beyond the contract
//  1. Errors that a GPU cannot detect: unmapping what queued work may access, copies outside of mappings with access,
//     mapping over a mapping, unmapping a part of one, unknown or destroyed handles, unpinning host memory in use. All
//     are kDriver with native code 1 or 400.
//  2. A kernel that accesses an address without a mapping poisons its device with native code 700.
//  3. Streams 0 and 1 are the legacy default stream, 2 the calling thread's own, each of the calling thread's current
//     device. The legacy stream and all blocking streams of its device wait for each other.
//  4. Nothing may be left at the end: the destructor waits for queued work, then reports leaks().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "sim/sim_options.hpp"

namespace tessera {

class SimEngines;
class SimMemory;
class SimPins;
class VirtualClock;
struct SimBytes;
struct SimPlace;
struct SimRange;
struct SimWork;

struct SimFrameInfo {
  FrameId frame;
  DeviceId device;
  FrameLocation location = FrameLocation::kDevice;
  Bytes bytes;
  Bytes offset;  // in the file of all frames of its kind
  bool shareable = false;
};

struct SimMapping {
  Address address;
  Bytes bytes;
  SimFrameInfo frame;
  std::uint64_t access = 0;  // bit n: device n may read and write
};

class SimDriver final : public Driver {
 public:
  // In real time. REQUIRES: `clock` runs, and outlives the driver.
  SimDriver(SimOptions options, const Clock& clock);
  // In virtual time: a waiting call makes the clock jump. REQUIRES: `clock` outlives the driver.
  SimDriver(SimOptions options, VirtualClock& clock);
  ~SimDriver() override;
  SimDriver(const SimDriver&) = delete;
  SimDriver& operator=(const SimDriver&) = delete;

  // ---- the contract ------------------------------------------------------------------------
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
  // The event stands for all work queued on its device so far.
  Status record_all(EventId event);
  Status query(EventId event) override;
  Status synchronize(EventId event) override;
  Status synchronize(EventId event, Nanoseconds limit) override;
  Result<std::int64_t> elapsed(EventId start, EventId end) override;
  Status copy_in(Address to, const void* from, Bytes bytes, StreamId stream) override;
  Status copy_out(void* to, Address from, Bytes bytes, StreamId stream) override;
  Status copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) override;
  Status copy(Address to, Address from, Bytes bytes, StreamId stream) override;
  Status fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) override;
  // `launch.kernel` is a `const sim_kernel*`.
  Status launch(const Launch& launch, StreamId stream) override;
  Status fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) override;

  // A kernel without code: takes `time`, and may access these ranges. What is in host memory of them comes over the
  // link first, in turn with copies, and takes the link's time in place of its share of `time`, if that is longer.
  Status occupy(StreamId stream, Nanoseconds time, std::span<const DeviceRange> ranges);

  // ---- beyond the contract, for softcuda ---------------------------------------------------
  // The device of streams 0, 1 and 2 for the calling thread; 0 until set.
  Status set_current_device(DeviceId device);
  // A blocking stream synchronises with the legacy default stream.
  Result<StreamId> create_stream(DeviceId device, bool blocking);
  Result<DeviceId> device_of(StreamId stream);
  // OK when all work queued on the stream has run, kNotReady before.
  Status query(StreamId stream);
  // Runs `function` in stream order on a thread of the driver. It may not call the driver.
  Status host_function(StreamId stream, std::function<void()> function);
  // `count` elements of `width` (1, 2 or 4) bytes, each set to the low bytes of `value`.
  Status fill_elements(Address to, std::uint32_t value, std::uint32_t width, std::uint64_t count, StreamId stream);
  // Like reserve(), but at addresses like those of cuMemAlloc: among the process's own mappings.
  Result<Address> reserve_beside_host(Bytes bytes);
  // One more destroy_frame is needed; also for a destroyed frame that is still mapped.
  Status retain_frame(FrameId frame);
  // Frames shared with another process, in both directions: see SimFrames.
  Status make_shareable(FrameId frame);
  Result<int> share_frame(FrameId frame);
  Result<FrameId> adopt_frame(int file);
  Result<int> share_all(DeviceId device, FrameLocation location);
  Result<FrameId> adopt_frame(int file, const SimPlace& place);
  std::optional<SimFrameInfo> frame(FrameId frame);
  // The mapping that contains `address`.
  std::optional<SimMapping> mapping_at(Address address);
  // Whether all of these bytes are in one registered range.
  bool is_registered(const void* host, Bytes bytes = Bytes(1));
  // One line for each frame, range, stream, event and registration that was not released.
  std::vector<std::string> leaks();

 private:
  SimDriver(SimOptions options, std::unique_ptr<SimEngines> engines);

  struct Target {  // a stream as the engines know it, and its device
    StreamId stream;
    DeviceId device;
  };

  Status check_device(DeviceId device) const;
  Status check_virtual_memory() const;
  Status check_host(const void* host, Bytes bytes) REQUIRES_LOCK(mutex_);
  void let_pins_take_time(Bytes bytes, bool locked);
  // The bytes that work is about to use. Errors: as SimMemory::bytes_at.
  Result<SimBytes> bytes_at(Address address, Bytes bytes, DeviceId device) const REQUIRES_LOCK(mutex_);
  void touches(SimWork& work, const SimRange& range) const;
  // The work of a copy without staging. Errors: as for bytes it must not access.
  Result<SimWork> copy_work(CopyWay way, const HostCopy& copy, DeviceId device) REQUIRES_LOCK(mutex_);
  // The stream and device that a caller's id stands for in the calling thread.
  StreamId meant(StreamId stream);
  Result<Target> target(StreamId stream);
  DeviceId current_device() const;

  const std::uint64_t serial_;  // distinguishes this driver from others that the thread may have used
  const SimOptions options_;
  // Keeps mappings in place while work on them is checked and queued. Never held while waiting.
  Mutex mutex_{LockRank::kDriver};
  std::unique_ptr<SimMemory> memory_;
  std::unique_ptr<SimPins> pins_;
  std::unique_ptr<SimEngines> engines_;
};

}  // namespace tessera
