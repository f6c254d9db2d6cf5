// The driver contract over the documented CUDA driver API.
//
// The context of a call is the one that is current on the calling thread if it can be used (any for a given stream, but
// only the stream's own for a copy within device memory, which may be of two devices; one of the same device for a call
// about a device); otherwise the device's adopted context, pushed and popped around the call. The adopted context of a
// device is the one that was current at its first use, or else its retained primary context. So a program with a
// context of its own never pays for a second one, and Tessera's streams and events are in the program's context.
//
// Thread safety: as the contract: every call from any thread.
// Invariants: 1. Streams and events of a device are in its adopted context. 2. An adopted context
// never changes; a primary one is held until the driver is destroyed.
#pragma once

#include <cuda.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/cuda_resolver.hpp"
#include "driver/driver.hpp"

namespace tessera {

struct CudaSymbols;
class CudaContexts;

class CudaDriver final : public Driver {
 public:
  // Finds the entry points and initialises the driver, which has no effect if it already is.
  // Errors: kNotSupported without a usable driver.
  static Result<std::unique_ptr<CudaDriver>> open(const CudaResolver& resolver);
  ~CudaDriver() override;

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
  struct Device {
    DeviceProperties properties;
    int numa_node = 0;          // of the memory for host frames
    bool rdma_capable = false;  // frames may be accessible to network cards
    bool shareable = false;     // and shared with other processes, by a file
    std::once_flag probed;
    std::once_flag kernel_loaded;
    CUfunction fingerprint_kernel = nullptr;  // in the adopted context; null if not available
    std::string kernel_problem;               // the reason
  };

  CudaDriver(std::unique_ptr<CudaSymbols> symbols, std::vector<std::unique_ptr<Device>> devices);

  Result<EventId> make_event(DeviceId device, unsigned flags);
  Status synchronize(CUcontext context, Nanoseconds limit);
  Status check_exists(DeviceId device) const;
  static Result<std::unique_ptr<Device>> describe(const CudaSymbols& symbols, int ordinal);
  // OK when a host frame can be created, mapped and written by copies: no attribute is reliable.
  Status try_host_frame(DeviceId device, Bytes bytes);
  Status use_host_frame(DeviceId device, Address address, Bytes bytes, FrameId frame);
  // cuda_fingerprint.cpp. REQUIRES: in the scope of the device's adopted context.
  Status load_fingerprint_kernel(CUfunction& kernel) const;

  std::unique_ptr<CudaSymbols> symbols_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<CudaContexts> contexts_;
};

}  // namespace tessera
