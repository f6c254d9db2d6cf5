// The whole contract between Tessera and a GPU: some thirty calls, and the rules for all of them.
//
// All code that moves pages uses this interface and nothing else, so the code that runs on the simulated device is the
// code that runs on the GPU. Implementations: `cuda_driver` (the documented CUDA driver API), `sim_driver` (a strict
// device in host memory), and the wrappers `fault_driver` and `trace_driver`. One suite,
// tests/contract/driver_contract.hpp, tests all of them.
//
// Thread safety: every call may be made from any thread at any time.
//
// Rules for every call
//  1. A failed call has changed nothing. Its Status has Code::kDriver and the CUresult, except where a call names a
//     more specific code, or documents what a failure leaves behind.
//  2. Copies, sets, launches and event records are queued on a stream and run in its order; the call returns before
//     they have run. All other calls are finished when they return.
//  3. Work that fails later makes the context unusable, as on a GPU: synchronize() and query() return the error from
//     then on.
//  4. A stream id is any of the driver's own: one made here, or one of the program's. StreamId(0) is the legacy default
//     stream, StreamId(2) the calling thread's own default stream.
//  5. Addresses, sizes and alignments of reserve/map/unmap/set_access are multiples of properties().granularity.
//  6. Nothing here retries, caches or decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "base/units.hpp"
#include "driver/native_codes.hpp"

namespace tessera {

struct DeviceProperties {
  std::string name;
  Bytes total_memory;
  Bytes granularity;                        // of virtual memory management, for device and host frames
  bool virtual_memory = false;              // can reserve, create, map: without it Tessera passes through
  std::string virtual_memory_problem = {};  // why not, for a device that should have it
  bool host_frames = false;                 // create_frame(kHost) works: determined by trying it
  std::string host_frames_problem = {};     // the error of that trial, where it does not
  // Operations that a stream holds before a call that queues another one, even a fence, blocks until one ends; 0:
  // unlimited.
  std::size_t queue_depth = 0;
  std::optional<unsigned> host_node = {};  // the NUMA node nearest to the device, if known
  std::string uuid = {};                   // 32 hexadecimal digits, the same in all processes; "": unknown
};

struct MemoryInfo {
  Bytes free;
  Bytes total;
  // Peak memory of allocation nodes in graphs: the driver's own memory, not part of any frame.
  Bytes graph_peak = {};
};

// The kind of physical memory. Not a Location, which is as seen from one device: a frame in the peer tier is kDevice,
// of the lender.
enum class FrameLocation : std::uint8_t {
  kDevice,
  kHost,  // pinned host memory that the device can map at any address
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

// One kernel launch. `kernel` is the driver's own function handle; `parameters` is the packed
// parameter block, each parameter at its naturally aligned offset.
struct Launch {
  const void* kernel = nullptr;
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
  std::span<const std::byte> parameters;
};

enum class CopyWay : std::uint8_t { kIn, kOut };

// One of several copies, between device memory and registered host memory.
struct HostCopy {
  Address device;
  void* host = nullptr;
  Bytes bytes;
};

struct DeviceRange {
  Address address;
  Bytes bytes;
};

// Identifies contents: equal bytes have equal fingerprints, and unequal bytes unequal ones, except with probability
// 2^-128 (fingerprint_lane.h). Only fingerprints of one driver may be compared.
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Fingerprint&) const = default;
};
// A range has one for each part of this size, in order; the fingerprint of the whole is their sum.
inline constexpr Bytes kFingerprintPart{64 << 10};
inline constexpr std::size_t kMostFingerprints = 64;  // ranges per call

class Driver {
 public:
  virtual ~Driver() = default;

  // ---- devices -----------------------------------------------------------------------------
  virtual int device_count() = 0;
  // Errors: kInvalidArgument for a device that does not exist.
  virtual Result<DeviceProperties> properties(DeviceId device) = 0;
  // Memory still available to create_frame, and the total.
  virtual Result<MemoryInfo> memory_info(DeviceId device) = 0;
  // Waits until all work queued on the device so far has run.
  virtual Status synchronize(DeviceId device) = 0;
  // The same with a time limit: kNotReady where it has not run by then. Drivers before CUDA 12.5 wait without a limit.
  virtual Status synchronize(DeviceId device, Nanoseconds limit) = 0;

  // ---- addresses and frames ----------------------------------------------------------------
  // A range of addresses with nothing mapped. `alignment` is a power of two; `hint` is the preferred start, 0 for any.
  // A driver may ignore the hint, and an alignment beyond its granularity, so check the result. Errors: kOutOfMemory
  // when no such range is left; some drivers refuse because of the hint.
  virtual Result<Address> reserve(Bytes bytes, Bytes alignment, Address hint = {}) = 0;
  // pre: exactly a range that reserve returned, with nothing mapped in it.
  virtual Status release(Address address, Bytes bytes) = 0;
  // Physical memory without an address. Errors: kOutOfMemory; kNotSupported for kHost without properties().host_frames.
  virtual Result<FrameId> create_frame(DeviceId device, FrameLocation location, Bytes bytes) = 0;
  // Frees the memory once it has no mapping left. pre: not destroyed before.
  virtual Status destroy_frame(FrameId frame) = 0;
  // Maps the whole frame at `address`. pre: `bytes` is the frame's size; the range is reserved and nothing is mapped in
  // it. post: mapped, without access.
  virtual Status map(Address address, Bytes bytes, FrameId frame) = 0;
  // Lets `device` read and write the range. pre: every byte of it is mapped; the range may cover many mappings. Errors:
  // kNotReady (CUDA 600): harmless, retry.
  virtual Status set_access(Address address, Bytes bytes, DeviceId device) = 0;
  // Removes all mappings in the range; the frames keep their bytes. pre: the range covers whole mappings, and NO QUEUED
  // OR RUNNING WORK CAN ACCESS IT: a GPU does not wait here.
  virtual Status unmap(Address address, Bytes bytes) = 0;

  // ---- host memory -------------------------------------------------------------------------
  // Pins host memory so that copies to and from it run asynchronously at full speed.
  virtual Status register_host(void* host, Bytes bytes) = 0;
  virtual Status unregister_host(void* host) = 0;

  // ---- streams and events ------------------------------------------------------------------
  // A stream that does not synchronise with the legacy default stream.
  virtual Result<StreamId> create_stream(DeviceId device) = 0;
  // Work already queued still runs.
  virtual Status destroy_stream(StreamId stream) = 0;
  virtual Status synchronize(StreamId stream) = 0;
  // The same with a time limit: kNotReady where the work has not run by then.
  virtual Status synchronize(StreamId stream, Nanoseconds limit) = 0;
  // Later work on `stream` waits for what `event` last recorded; not at all if it recorded nothing.
  virtual Status wait_event(StreamId stream, EventId event) = 0;
  virtual Result<EventId> create_event(DeviceId device) = 0;
  // An event that also records the time; more expensive to record.
  virtual Result<EventId> create_timed_event(DeviceId device) = 0;
  virtual Status destroy_event(EventId event) = 0;
  // The event stands for all work queued on `stream` so far. Errors: kNotFound when the stream does not exist (any
  // more), or belongs to another device than the event.
  virtual Status record_event(EventId event, StreamId stream) = 0;
  // OK when the recorded work has run, kNotReady before.
  virtual Status query(EventId event) = 0;
  virtual Status synchronize(EventId event) = 0;
  // The same with a time limit: kNotReady where the recorded work has not run by then.
  virtual Status synchronize(EventId event, Nanoseconds limit) = 0;
  // Nanoseconds from `start` to `end`. pre: both are timed events, and were recorded.
  // Errors: kNotReady while one of them has not run.
  virtual Result<std::int64_t> elapsed(EventId start, EventId end) = 0;

  // ---- work --------------------------------------------------------------------------------
  // Unregistered host memory makes these slow and synchronous, never wrong.
  virtual Status copy_in(Address to, const void* from, Bytes bytes, StreamId stream) = 0;
  virtual Status copy_out(void* to, Address from, Bytes bytes, StreamId stream) = 0;
  // Makes all copies, of one direction, in one call: in stream order as a whole, unordered among themselves. pre: there
  // is at least one; no two overlap; the stream is not the legacy default stream. post of a failure: any of them may
  // have been queued. Errors: kNotSupported by drivers before CUDA 12.8; none was queued then.
  virtual Status copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) = 0;
  virtual Status copy(Address to, Address from, Bytes bytes, StreamId stream) = 0;
  virtual Status fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) = 0;
  virtual Status launch(const Launch& launch, StreamId stream) = 0;
  // Writes the fingerprints of all parts of the first range, of the second and so on to `to`, as of this point of the
  // stream. pre: 1 to kMostFingerprints ranges of whole parts, 16-byte aligned; `to` is registered; `stream` was made
  // by create_stream(device). Errors: kNotSupported where the device or the driver never can.
  virtual Status fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to,
                             StreamId stream) = 0;
};

// Whether the driver's own exit handler has run: the process ends, and no call works any more.
inline bool driver_has_ended(const Status& status) { return status.native_code() == native::kDeinitialized; }

}  // namespace tessera
