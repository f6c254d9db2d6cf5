// cuMemAllocAsync, cuMemFreeAsync and pools: memory in the order of a stream.
//
// Memory is taken at the call and given back when the stream has come to the free; the pool keeps
// nothing, as CUDA's default pool with its default threshold of 0 after a synchronisation.
#include "call.hpp"
#include "pools.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// In a capture this makes a node, and the graph's own memory.
std::optional<CUresult> capture_allocation(Machine& machine, Context& context, CUdeviceptr* address,
                                           size_t bytes, StreamId stream) {
  Status taken;
  const auto captured = machine.captures.capture(stream, [&]() -> Work {
    const auto memory = GraphMemory::take(machine, context, Bytes(bytes));
    taken = memory.status();
    if (!memory.is_ok()) return EmptyWork{};
    *address = memory.value()->address().value();
    return AllocWork{memory.value()};
  });
  if (captured && *captured == CUDA_SUCCESS && !taken.is_ok()) return to_result(taken);
  return captured;
}

// Default streams are those of the current context. The memory is of the stream's device unless the pool's
// is said.
CUresult allocate(CUdeviceptr* address, size_t bytes, CUstream stream,
                  std::optional<DeviceId> device = std::nullopt) {
  return in_context([&](Machine& machine, Context& current) -> CUresult {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto info = machine.streams.find(stream);
    Context& ordered = info ? *info->context : current;
    const bool elsewhere = device && *device != ordered.device;
    Context& context = elsewhere ? *machine.contexts.primary(*device) : ordered;
    const auto captured = capture_allocation(machine, context, address, bytes, id.value());
    if (captured) return *captured;
    const auto allocated = machine.memory.allocate(context, Bytes(bytes), true);
    if (!allocated.is_ok()) return to_result(allocated.status());
    *address = allocated.value().value();
    return CUDA_SUCCESS;
  });
}

CUresult on_pool(CUmemoryPool pool, auto&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    for (int i = 0; i < machine.environment.devices; ++i) {
      const DeviceId device(static_cast<std::uint64_t>(i));
      if (pool == default_pool(device)) return body(machine, device);
    }
    const auto device = machine.pools.device_of(pool);
    return device ? body(machine, *device) : CUDA_ERROR_INVALID_VALUE;
  });
}

// `body(machine, device)`.
CUresult on_device(CUdevice device, auto&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    return body(machine, DeviceId(static_cast<std::uint64_t>(device)));
  });
}

bool of_device(const CUmemLocation& location, CUmemAllocationType type) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

bool is_switch(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate(address, bytes, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return on_pool(pool, [&](Machine&, DeviceId device) { return allocate(address, bytes, stream, device); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto captured =
        machine.captures.capture(id.value(), [&] { return FreeWork{address}; });
    if (captured) return *captured;
    return to_result(machine.memory.free_in_order(Address(address), id.value()));
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_device(device, [&](Machine&, DeviceId id) {
    *pool = default_pool(id);
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_device(device, [&](Machine& machine, DeviceId id) {
    *pool = machine.pools.current(id);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return on_device(device, [&](Machine&, DeviceId of) {
    return on_pool(pool, [&](Machine& machine, DeviceId its) {
      if (its != of) return CUDA_ERROR_INVALID_VALUE;
      machine.pools.set_current(of, pool);
      return CUDA_SUCCESS;
    });
  });
}

// The newer names, for memory of one kind at one place. Here there are pools of devices alone.
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!of_device(*location, type)) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceGetDefaultMemPool(pool, location->id);
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!of_device(*location, type)) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceGetMemPool(pool, location->id);
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!of_device(*location, type)) return CUDA_ERROR_NOT_SUPPORTED;
  return cuDeviceSetMemPool(location->id, pool);
}

// Pools that other processes may open are not supported.
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  const bool placed = props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                      props->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!placed) return CUDA_ERROR_INVALID_VALUE;
  return on_device(props->location.id, [&](Machine& machine, DeviceId device) {
    *pool = machine.pools.create(device);
    return CUDA_SUCCESS;
  });
}

// What was allocated from it stays until it is freed.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_machine([&](Machine& machine) {
    return machine.pools.destroy(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// Its own device always has access, which cannot be taken away.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  return on_pool(pool, [&](Machine& machine, DeviceId own) -> CUresult {
    for (size_t i = 0; i < count; ++i) {
      if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      SOFTCUDA_TRY(on_device(map[i].location.id, [&](Machine&, DeviceId device) {
        const bool allowed = device != own || map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      }));
    }
    for (size_t i = 0; i < count; ++i) {
      const DeviceId device(static_cast<std::uint64_t>(map[i].location.id));
      machine.pools.set_access(pool, device, map[i].flags);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  const bool asked = flags != nullptr && location != nullptr;
  if (!asked || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return on_pool(pool, [&](Machine&, DeviceId own) {
    return on_device(location->id, [&](Machine& machine, DeviceId device) {
      *flags =
          device == own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : machine.pools.access(pool, device);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return on_pool(pool, [](Machine& machine, DeviceId device) -> CUresult {
    return to_result(machine.memory.info(device).status());
  });
}

// The switches are on as CUDA's are; amounts are 0, because the pool holds nothing of its own.
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return on_pool(pool, [&](Machine&, DeviceId) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (is_switch(attribute)) {
      *static_cast<int*>(value) = 1;
    } else {
      *static_cast<cuuint64_t*>(value) = 0;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute, void* value) {
  return on_pool(pool, [&](Machine&, DeviceId) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}
