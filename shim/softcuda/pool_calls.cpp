// cuMemAllocAsync, cuMemFreeAsync and pools: stream-ordered memory.
//
// Memory is allocated at the call and released when the stream has reached the free. A pool keeps nothing, like CUDA's
// default pool with its default threshold of 0 after a synchronisation.
#include <cstring>

#include "call.hpp"
#include "newer_pools.h"
#include "pools.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

DeviceId device_of(const CUmemLocation& location) { return DeviceId(static_cast<std::uint64_t>(location.id)); }

// In a capture this makes a node, and the graph's own memory.
std::optional<CUresult> capture_allocation(Machine& machine, Context& context, CUdeviceptr* address, size_t bytes,
                                           StreamId stream) {
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

// Default streams belong to the current context. Memory is on the stream's device unless the pool specifies another;
// host memory belongs to the stream's context.
CUresult allocate(CUdeviceptr* address, size_t bytes, CUstream stream, CUmemoryPool asked = nullptr) {
  return in_context([&](Machine& machine, Context& current) -> CUresult {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto info = machine.streams.find(stream);
    Context& ordered = info ? *info->context : current;
    const CUmemoryPool pool = asked != nullptr ? asked : machine.pools.current(place_of(ordered.device));
    const auto place = machine.pools.place_of(pool);
    const PoolSharing sharing = machine.pools.sharing(pool);
    if (!place || sharing.file >= 0)
      return CUDA_ERROR_INVALID_VALUE;  // only the pool's own process may allocate from it
    const DeviceId device = place->of_device() ? device_of(place->location) : ordered.device;
    Context& context = device != ordered.device ? *machine.contexts.primary(device) : ordered;
    const auto captured = capture_allocation(machine, context, address, bytes, id.value());
    if (captured) return *captured;
    const MemoryKind kind{.pool = pool,
                          .in_host_frame = !place->of_device(),
                          .managed = place->managed(),
                          .shareable = sharing.exported,
                          .counted = true,
                          .limit = machine.pools.limit(pool)};
    const auto allocated = machine.memory.allocate(context, Bytes(bytes), kind);
    if (!allocated.is_ok()) return to_result(allocated.status());
    if (kind.managed) machine.advice.forget(allocated.value(), Bytes(bytes));
    *address = allocated.value().value();
    return CUDA_SUCCESS;
  });
}

// Calls body(machine, place).
CUresult on_pool(CUmemoryPool pool, auto&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    const auto place = machine.pools.place_of(pool);
    return place ? body(machine, *place) : CUDA_ERROR_INVALID_VALUE;
  });
}

// The host has one NUMA node here. Managed memory need not have a preferred location.
CUresult check_place(Machine& machine, const PoolPlace& place) {
  const bool known = place.managed() || place.type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  if (!place.of_device() && !machine.environment.host_frames) return CUDA_ERROR_NOT_SUPPORTED;
  switch (place.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return place.location.id >= 0 && place.location.id < machine.environment.devices ? CUDA_SUCCESS
                                                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return place.location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_INVALID: return place.managed() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

// Calls body(machine, place) for the location and type given by the program.
CUresult at_place(const CUmemLocation* location, CUmemAllocationType type, auto&& body) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_machine([&](Machine& machine) -> CUresult {
    const PoolPlace place{type, *location};
    SOFTCUDA_TRY(check_place(machine, place));
    return body(machine, place);
  });
}

bool is_host(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

constexpr Bytes kPoolPage = 32_MiB;  // pools grow by this

// A size near the end of the address space is no limit.
Bytes in_pages(Bytes bytes) {
  return bytes > Bytes(~std::uint64_t{0}) - kPoolPage ? Bytes() : round_up(bytes, kPoolPage);
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

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate(address, bytes, stream, pool);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    const auto captured = machine.captures.capture(id.value(), [&] { return FreeWork{address}; });
    if (captured) return *captured;
    if (const auto freed = machine.graph_allocations.free(Address(address))) {
      return *freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
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
    *pool = machine.pools.current(place_of(id));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return on_device(device, [&](Machine&, DeviceId of) {
    return on_pool(pool, [&](Machine& machine, const PoolPlace& its) {
      if (its != place_of(of) || machine.pools.sharing(pool).file >= 0) return CUDA_ERROR_INVALID_VALUE;
      machine.pools.set_current(its, pool);
      return CUDA_SUCCESS;
    });
  });
}

// The newer names, by location and allocation type.
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return at_place(location, type, [&](Machine& machine, const PoolPlace& place) {
    *pool = machine.pools.default_of(place);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return at_place(location, type, [&](Machine& machine, const PoolPlace& place) {
    *pool = machine.pools.current(place);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return at_place(location, type, [&](Machine&, const PoolPlace& place) {
    return on_pool(pool, [&](Machine& machine, const PoolPlace& its) {
      if (its != place || machine.pools.sharing(pool).file >= 0) return CUDA_ERROR_INVALID_VALUE;
      machine.pools.set_current(place, pool);
      return CUDA_SUCCESS;
    });
  });
}

// For exportable pools see shared_pool_calls.cpp. The maximum size is rounded up to what the device maps.
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = props->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
  if (shared && props->location.type == CU_MEM_LOCATION_TYPE_HOST) return CUDA_ERROR_INVALID_VALUE;
  const bool by_files = props->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (shared && (!by_files || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)) return CUDA_ERROR_NOT_SUPPORTED;
  return at_place(&props->location, props->allocType, [&](Machine& machine, const PoolPlace& place) {
    if (shared && !machine.environment.virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
    if (place.managed() && props->maxSize != 0) return CUDA_ERROR_INVALID_VALUE;
    *pool = machine.pools.create(place, {.exported = shared}, in_pages(Bytes(props->maxSize)));
    return CUDA_SUCCESS;
  });
}

// Allocations from the pool stay until they are freed.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_machine([&](Machine& machine) {
    if (!machine.pools.destroy(pool)) return CUDA_ERROR_INVALID_VALUE;
    machine.ranges.forget_high(pool);
    return CUDA_SUCCESS;
  });
}

// A pool's own device always has access, which cannot be revoked; the host has access to host memory.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  return on_pool(pool, [&](Machine& machine, const PoolPlace& own) -> CUresult {
    for (size_t i = 0; i < count; ++i) {
      const bool whole = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      if (is_host(map[i].location) && !own.of_device() && whole) continue;
      if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      SOFTCUDA_TRY(on_device(map[i].location.id, [&](Machine&, DeviceId device) {
        return own != place_of(device) || whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      }));
    }
    for (size_t i = 0; i < count; ++i) {
      if (is_host(map[i].location)) continue;
      machine.pools.set_access(pool, device_of(map[i].location), map[i].flags);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_pool(pool, [&](Machine&, const PoolPlace& own) -> CUresult {
    if (is_host(*location)) {
      *flags = own.of_device() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      return CUDA_SUCCESS;
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return on_device(location->id, [&](Machine& machine, DeviceId device) {
      const bool always = own == place_of(device) || own.managed();
      *flags = always ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : machine.pools.access(pool, device);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return on_pool(pool, [](Machine& machine, const PoolPlace& place) -> CUresult {
    if (!place.of_device()) return CUDA_SUCCESS;
    return to_result(machine.memory.info(device_of(place.location)).status());
  });
}

// Switches are on by default, as in CUDA. A pool reserves whole pages for what is in use, and retains nothing.
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return on_pool(pool, [&](Machine& machine, const PoolPlace& place) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto answer = [value](auto told) {
      std::memcpy(value, &told, sizeof(told));
      return CUDA_SUCCESS;
    };
    const PoolUse use = machine.ranges.use_of(pool);
    const PoolSharing sharing = machine.pools.sharing(pool);
    const bool exported = sharing.exported && sharing.file < 0;
    switch (static_cast<int>(attribute)) {
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return answer(machine.pools.attribute(pool, attribute).value_or(0));
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return answer(in_pages(use.used).value());
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return answer(in_pages(use.reserved_high).value());
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return answer(use.used.value());
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return answer(use.high.value());
      case TESSERA_MEMPOOL_ATTR_ALLOCATION_TYPE: return answer(place.type);
      case TESSERA_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
        return answer(exported ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE);
      case TESSERA_MEMPOOL_ATTR_LOCATION_ID: return answer(place.location.id);
      case TESSERA_MEMPOOL_ATTR_LOCATION_TYPE: return answer(place.location.type);
      case TESSERA_MEMPOOL_ATTR_MAX_POOL_SIZE: return answer(machine.pools.limit(pool).value());
      case TESSERA_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED: return answer(0);
      case TESSERA_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID: return answer(-1);
      default: break;
    }
    if (!is_switch(attribute)) return CUDA_ERROR_INVALID_VALUE;
    return answer(static_cast<int>(machine.pools.attribute(pool, attribute).value_or(1)));
  });
}

// High watermarks can be reset to the current amount, by a zero; amounts cannot be set.
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return on_pool(pool, [&](Machine& machine, const PoolPlace&) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool settable = is_switch(attribute) || attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    const std::uint64_t wanted = is_switch(attribute) ? static_cast<std::uint64_t>(*static_cast<int*>(value) != 0)
                                                      : *static_cast<cuuint64_t*>(value);
    if (settable) {
      machine.pools.set_attribute(pool, attribute, wanted);
      return CUDA_SUCCESS;
    }
    const bool high = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    if (!high || wanted != 0) return CUDA_ERROR_INVALID_VALUE;
    const bool reserved = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
    machine.ranges.reset_high(pool, reserved ? &PoolUse::reserved_high : &PoolUse::high);
    return CUDA_SUCCESS;
  });
}
