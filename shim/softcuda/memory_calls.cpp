// cuMem{Alloc,Free,GetInfo,GetAddressRange,Host*}: device memory and pinned host memory.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr size_t kPitchUnit = 512;

CUresult allocate(Machine& machine, Context& context, CUdeviceptr* address, size_t bytes, MemoryKind kind = {}) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SOFTCUDA_TRY(machine.captures.check_safe());
  const auto allocated = machine.memory.allocate(context, Bytes(bytes), kind);
  if (!allocated.is_ok()) return to_result(allocated.status());
  if (kind.managed) machine.advice.forget(allocated.value(), Bytes(bytes));
  *address = allocated.value().value();
  return CUDA_SUCCESS;
}

// Freed memory must not be in use by queued work on any device that can access it.
CUresult finish_uncaptured(Machine& machine) {
  SOFTCUDA_TRY(machine.captures.check_safe());
  return to_result(machine.finish_all());
}

}  // namespace

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    const auto info = machine.memory.info(context.device);
    if (!info.is_ok()) return to_result(info.status());
    if (free != nullptr) *free = info.value().free.value();
    if (total != nullptr) *total = info.value().total.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return in_context([&](Machine& machine, Context& context) { return allocate(machine, context, address, bytes); });
}

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    const size_t rounded = (width + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
    if (rounded < width || height > SIZE_MAX / rounded) return CUDA_ERROR_OUT_OF_MEMORY;
    SOFTCUDA_TRY(allocate(machine, context, address, rounded * height));
    *pitch = rounded;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return in_context([&](Machine& machine, Context& context) {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return allocate(machine, context, address, bytes, {.in_host_frame = true, .managed = true});
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (address == 0) return CUDA_SUCCESS;
    SOFTCUDA_TRY(finish_uncaptured(machine));
    if (const auto freed = machine.graph_allocations.free(Address(address))) {
      return *freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return to_result(machine.memory.free(Address(address)));
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    if (!range) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range->base.value();
    if (bytes != nullptr) *bytes = range->bytes.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned flags) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    constexpr unsigned kAll = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (host == nullptr || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.captures.check_safe());
    if (bytes == 0) {
      *host = nullptr;
      return CUDA_SUCCESS;
    }
    const auto allocated = machine.host_memory.allocate(context, Bytes(bytes), flags);
    if (!allocated.is_ok()) return to_result(allocated.status());
    *host = allocated.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocHost(void** host, size_t bytes) { return cuMemHostAlloc(host, bytes, 0); }

CUresult cuMemFreeHost(void* host) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (host == nullptr) return CUDA_SUCCESS;
    SOFTCUDA_TRY(finish_uncaptured(machine));
    return to_result(machine.host_memory.free(host));
  });
}

CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    constexpr unsigned kAll = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    if (host == nullptr || bytes == 0 || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.captures.check_safe());
    return to_result(machine.host_memory.pin(context, host, Bytes(bytes), flags));
  });
}

CUresult cuMemHostUnregister(void* host) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (host == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(finish_uncaptured(machine));
    return to_result(machine.host_memory.unpin(host));
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (address == nullptr || host == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto value = reinterpret_cast<std::uint64_t>(host);
    const auto range = machine.ranges.find(Address(value));
    if (!range || !range->in_host()) return CUDA_ERROR_INVALID_VALUE;
    *address = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (flags == nullptr || host == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto range = machine.ranges.find(Address(reinterpret_cast<std::uint64_t>(host)));
    if (!range || range->kind != RangeKind::kHost) return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;  // all of it is mapped
    return CUDA_SUCCESS;
  });
}
