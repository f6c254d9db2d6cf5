// CudaDriver's addresses and frames: CUDA's virtual memory management.
#include <cstring>
#include <string>
#include <vector>

#include "driver/cuda_context.hpp"
#include "driver/cuda_driver.hpp"
#include "driver/cuda_symbols.hpp"

namespace tessera {
namespace {

Status no_virtual_memory() { return Status(Code::kNotSupported, "the CUDA driver has no virtual memory management"); }

// Device frames can be shared with other processes; by itself that exposes nothing.
CUmemAllocationProp frame_properties(DeviceId device, FrameLocation location, int numa_node, bool rdma_capable,
                                     bool shareable) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  if (location == FrameLocation::kHost) {
    properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    properties.location.id = numa_node;
  } else {
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = static_cast<int>(device.value());
    properties.allocFlags.gpuDirectRDMACapable = rdma_capable ? 1 : 0;
    if (shareable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  return properties;
}

}  // namespace

// The granularity and the probe need a context, so they are deferred to the first query of a device. The properties are
// not read before that is complete.
Result<DeviceProperties> CudaDriver::properties(DeviceId device) {
  TESSERA_TRY(check_exists(device));
  Device& entry = *devices_[device.value()];
  std::call_once(entry.probed, [&] {
    if (!entry.properties.virtual_memory) return;
    const CUmemAllocationProp frame =
        frame_properties(device, FrameLocation::kDevice, 0, entry.rdma_capable, entry.shareable);
    std::size_t granularity = 0;
    const Status told = cuda_status(
        *symbols_, symbols_->cuMemGetAllocationGranularity(&granularity, &frame, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
    if (!told.is_ok()) {
      entry.properties.virtual_memory = false;
      entry.properties.virtual_memory_problem = told.message();
      return;
    }
    entry.properties.granularity = Bytes(granularity);
    const Status tried = try_host_frame(device, Bytes(granularity));
    entry.properties.host_frames = tried.is_ok();
    if (!tried.is_ok()) entry.properties.host_frames_problem = tried.to_string();
  });
  return entry.properties;
}

Result<Address> CudaDriver::reserve(Bytes bytes, Bytes alignment, Address hint) {
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  CUdeviceptr address = 0;
  TESSERA_TRY(cuda_status(*symbols_,
                          symbols_->cuMemAddressReserve(&address, bytes.value(), alignment.value(), hint.value(), 0),
                          "cuMemAddressReserve"));
  return Address(address);
}

Status CudaDriver::release(Address address, Bytes bytes) {
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemAddressFree(address.value(), bytes.value()), "cuMemAddressFree");
}

Result<FrameId> CudaDriver::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  TESSERA_TRY(check_exists(device));
  const Device& entry = *devices_[device.value()];
  if (!entry.properties.virtual_memory) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_, device);
  TESSERA_TRY(scope.status());
  const CUmemAllocationProp properties =
      frame_properties(device, location, entry.numa_node, entry.rdma_capable, entry.shareable);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = symbols_->cuMemCreate(&handle, bytes.value(), &properties, 0);
  Status status = cuda_status(*symbols_, result, "cuMemCreate");
  if (status.is_ok()) return FrameId(handle);
  const bool refused_host = location == FrameLocation::kHost && status.code() == Code::kDriver;
  return refused_host ? Status(Code::kNotSupported, std::string(status.message())) : status;
}

Status CudaDriver::destroy_frame(FrameId frame) {
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemRelease(frame.value()), "cuMemRelease");
}

Status CudaDriver::map(Address address, Bytes bytes, FrameId frame) {
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemMap(address.value(), bytes.value(), 0, frame.value(), 0), "cuMemMap");
}

Status CudaDriver::set_access(Address address, Bytes bytes, DeviceId device) {
  TESSERA_TRY(check_exists(device));
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_, device);
  TESSERA_TRY(scope.status());
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = static_cast<int>(device.value());
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuda_status(*symbols_, symbols_->cuMemSetAccess(address.value(), bytes.value(), &access, 1), "cuMemSetAccess");
}

Status CudaDriver::unmap(Address address, Bytes bytes) {
  if (!symbols_->virtual_memory()) return no_virtual_memory();
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemUnmap(address.value(), bytes.value()), "cuMemUnmap");
}

// ---- the probe ---------------------------------------------------------------------------------

Status CudaDriver::try_host_frame(DeviceId device, Bytes bytes) {
  TESSERA_TRY_ASSIGN(const FrameId frame, create_frame(device, FrameLocation::kHost, bytes));
  const Result<Address> range = reserve(bytes, bytes);
  Status status = range.is_ok() ? use_host_frame(device, range.value(), bytes, frame) : range.status();
  if (range.is_ok()) {
    const Status released = release(range.value(), bytes);
    if (status.is_ok()) status = released;
  }
  const Status destroyed = destroy_frame(frame);
  return status.is_ok() ? destroyed : status;
}

Status CudaDriver::use_host_frame(DeviceId device, Address address, Bytes bytes, FrameId frame) {
  TESSERA_TRY(map(address, bytes, frame));
  const auto use = [&]() -> Status {
    TESSERA_TRY(set_access(address, bytes, device));
    TESSERA_TRY_ASSIGN(const StreamId stream, create_stream(device));
    const std::vector<std::uint64_t> sent(512, 0x5445535345524121);
    std::vector<std::uint64_t> back(sent.size(), 0);
    const Bytes size(sent.size() * sizeof(sent[0]));
    Status status = copy_in(address, sent.data(), size, stream);
    if (status.is_ok()) status = copy_out(back.data(), address, size, stream);
    if (status.is_ok()) status = synchronize(stream);
    const Status destroyed = destroy_stream(stream);
    if (!status.is_ok()) return status;
    TESSERA_TRY(destroyed);
    return back == sent ? Status::ok() : Status(Code::kNotSupported, "a host frame did not keep its bytes");
  };
  const Status used = use();
  const Status unmapped = unmap(address, bytes);
  return used.is_ok() ? unmapped : used;
}

}  // namespace tessera
