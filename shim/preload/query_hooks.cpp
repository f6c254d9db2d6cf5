// Memory queries, answered as if every block came from cuMemAlloc or from a pool, as the program requested it.
// The driver's answers would describe our reservation and the movable frames behind it.
#include <cstring>
#include <optional>
#include <string_view>

#include "cuda_api.hpp"
#include "driver_objects.hpp"
#include "exposure.hpp"
#include "green_contexts.hpp"
#include "host_blocks.hpp"
#include "lifecycle.hpp"
#include "mapped_memory.hpp"
#include "outcome.hpp"
#include "program_pools.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// Distinct from the driver's own small numbers, and from the id of an earlier block at this address.
std::uint64_t buffer_id(const tessera_block_info& info) {
  return (1ull << 63) | (info.generation & 0x3fffff) << 40 | ((info.address >> 9) & 0xffffffffff);
}

// As above; no device block has this bit.
std::uint64_t host_buffer_id(const tessera_host_info& block) {
  return (1ull << 63) | (1ull << 62) | (block.generation & ((1ull << 62) - 1));
}

// Kernels of other devices have no access.
CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS access_of_current_device(const tessera_block_info& block) {
  CUdevice current = 0;
  const CUresult told = call_true(&TrueDriver::cuCtxGetDevice, &current);
  return told == CUDA_SUCCESS && current != static_cast<CUdevice>(block.device)
             ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
             : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

// Only the driver knows whether the program has set this attribute. Setting it exposed the block, so the block is
// resident.
bool is_synchronous(CUdeviceptr address) {
  int synchronous = 0;
  const CUresult told = call_true(&TrueDriver::cuPointerGetAttribute, static_cast<void*>(&synchronous),
                                  CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  return told == CUDA_SUCCESS && synchronous != 0;
}

// Null for cuMemAlloc memory.
CUmemoryPool pool_of(const tessera_block_info& block) {
  const std::optional<PoolBlock> pooled = pool_blocks().find(block.address);
  const ProgramPool* const pool = pooled ? program_pools().by_number(pooled->pool) : nullptr;
  return pool != nullptr ? pool->handle.load() : nullptr;
}

// Pool memory and mapped memory belong to a device, not to a context.
CUcontext context_of(const tessera_block_info& block) {
  const bool of_none = pool_blocks().find(block.address) || is_mapped(block.address);
  return of_none ? nullptr : home_of(static_cast<CUdevice>(block.device));
}

// As requested, where the program made the memory by a handle.
std::uint64_t shareable_as(const tessera_block_info& block) {
  CUmemAllocationProp properties;
  return is_mapped(block.address, properties) ? static_cast<std::uint64_t>(properties.requestedHandleTypes) : 0;
}

template <class Value>
CUresult answer(void* data, Value value) {
  std::memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

// The header says boolean; the driver writes an int.
CUresult answer_truth(void* data, bool value) { return answer(data, value ? 1 : 0); }

// As the driver maps what it allocates: in whole pages of the device.
std::size_t mapping_bytes(const tessera_host_info& block) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  return (std::size_t{block.bytes} + kPage - 1) / kPage * kPage;
}

// `data` has the attribute's own type, as cuPointerGetAttribute documents it.
CUresult attribute_of(const tessera_block_info& block, CUpointer_attribute attribute, CUdeviceptr address, void* data) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return answer(data, context_of(block));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return answer(data, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return answer(data, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return answer(data, buffer_id(block));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return answer(data, buffer_id(block));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return answer(data, static_cast<int>(block.device));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return answer(data, block.address);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return answer(data, block.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(data, std::size_t{block.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return answer(data, std::size_t{block.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPED: return answer_truth(data, true);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return answer(data, static_cast<int>(access_of_current_device(block)));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return answer_truth(data, is_synchronous(address));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return answer_truth(data, false);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return answer_truth(data, false);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return answer_truth(data, false);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return answer_truth(data, false);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return answer(data, shareable_as(block));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return answer(data, pool_of(block));
    case TESSERA_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL: return answer(data, -1);
    default: break;  // peer tokens and host pointers do not exist
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// A block of pinned host memory. What the driver knows of the chunk in which it lies is right but for its extent and
// identity.
CUresult attribute_of(const tessera_host_info& block, CUpointer_attribute attribute, CUdeviceptr address, void* data) {
  const auto start = reinterpret_cast<std::uint64_t>(block.start);
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return answer(data, host_buffer_id(block));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return answer(data, host_buffer_id(block));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return answer(data, start);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return answer(data, start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(data, std::size_t{block.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return answer(data, mapping_bytes(block));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return answer_truth(data, is_host_block_synchronous(block));
    default: break;
  }
  return call_true(&TrueDriver::cuPointerGetAttribute, data, attribute, address);
}

// The options as the first allocation will read them; null if they are invalid. Never destroyed: exit handlers may
// query.
tessera_options* coming_options() {
  static tessera_options* const options = [] {
    tessera_options* read = nullptr;
    return tessera_options_create(&read) == TESSERA_OK ? read : nullptr;
  }();
  return options;
}

// Whether programs are promised more memory than the device has.
bool promises_more() {
  static const bool promises = [] {
    char told[16] = "";
    tessera_options* const options = coming_options();
    return options != nullptr && tessera_options_get(options, "report-memory", told, sizeof(told)) == TESSERA_OK &&
           std::string_view(told) == "virtual";
  }();
  return promises;
}

bool has_virtual_memory(CUdevice device) {
  static const auto ask = reinterpret_cast<decltype(&::cuDeviceGetAttribute)>(true_symbol("cuDeviceGetAttribute"));
  int has = 0;
  return ask != nullptr && ask(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) == CUDA_SUCCESS &&
         has != 0;
}

struct TellableMemory {
  std::uint64_t free, total;
};

// Corrects the driver's answer for a device on which nothing was allocated yet, so that the first allocation changes
// later answers by no more than its own size.
tessera_result correct_before(CUdevice device, TellableMemory& memory) {
  tessera_options* const options = coming_options();
  if (options == nullptr) return TESSERA_NOT_SUPPORTED;
  return tessera_options_device_budget(options, device, memory.free, memory.total, &memory.free);
}

// Errors: NOT_SUPPORTED if the program should get the driver's answer.
tessera_result correct_memory(CUdevice device, CUcontext context, TellableMemory& memory) {
  if (stays_out() || !has_virtual_memory(device)) return TESSERA_NOT_SUPPORTED;
  const CUcontext home = home_of(device);
  if (home != nullptr && home != context) {
    // Memory of this context is the driver's.
    return running() == nullptr ? TESSERA_NOT_SUPPORTED
                                : tessera_memory_beside(running(), device, &memory.free, &memory.total);
  }
  // A program that queries before it allocates is promised memory in its current context.
  if (running() == nullptr && promises_more()) {
    if (const tessera_result here = attend(); here != TESSERA_OK) return here;
    (void)is_home(device, context);
  }
  return running() == nullptr ? correct_before(device, memory)
                              : tessera_memory_info(running(), device, &memory.free, &memory.total);
}

}  // namespace

// The driver reports errors of the call; it accepts null for either pointer.
TESSERA_HOOK cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const CUresult told = call_true(&TrueDriver::cuMemGetInfo_v2, free, total);
  if (told != CUDA_SUCCESS) return told;
  const Entry entry;
  if (entry.nested() || lies_in_known_driver(TESSERA_CALLER)) return told;
  const InPrimary in_primary;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::size_t driver_free = 0, driver_total = 0;
  const bool known = call_true(&TrueDriver::cuCtxGetDevice, &device) == CUDA_SUCCESS &&
                     call_true(&TrueDriver::cuCtxGetCurrent, &context) == CUDA_SUCCESS &&
                     call_true(&TrueDriver::cuMemGetInfo_v2, &driver_free, &driver_total) == CUDA_SUCCESS;
  TellableMemory memory{driver_free, driver_total};
  const tessera_result corrected = known ? correct_memory(device, context, memory) : TESSERA_NOT_SUPPORTED;
  if (corrected == TESSERA_NOT_SUPPORTED || corrected == TESSERA_NOT_READY) return told;
  if (corrected != TESSERA_OK) return cuda_result_said(corrected, "cuMemGetInfo");
  if (free != nullptr) *free = memory.free;
  if (total != nullptr) *total = memory.total;
  return CUDA_SUCCESS;
}

TESSERA_HOOK cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  if (in_host_blocks(address)) {
    tessera_host_info host;
    if (!find_host_block(address, host)) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = reinterpret_cast<CUdeviceptr>(host.start);
    if (bytes != nullptr) *bytes = host.bytes;
    return CUDA_SUCCESS;
  }
  if (!served(address)) {
    return call_true(&TrueDriver::cuMemGetAddressRange_v2, base, bytes, address);
  }
  tessera_block_info block;
  if (!find_block(address, block)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block.address;
  if (bytes != nullptr) *bytes = block.bytes;
  return CUDA_SUCCESS;
}

TESSERA_HOOK cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (in_host_blocks(address)) {
    tessera_host_info host;
    if (data == nullptr || !find_host_block(address, host)) return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(host, attribute, address, data);
  }
  if (!served(address)) {
    return call_true(&TrueDriver::cuPointerGetAttribute, data, attribute, address);
  }
  tessera_block_info block;
  if (data == nullptr || !find_block(address, block)) return CUDA_ERROR_INVALID_VALUE;
  return attribute_of(block, attribute, address, data);
}

// Unlike the single-attribute call, this one does not fail for an attribute that the pointer lacks: the driver writes a
// zero. Querying the driver for address 0 writes exactly those zeros.
TESSERA_HOOK cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  const bool in_blocks = in_host_blocks(address);
  if ((!in_blocks && !served(address)) || attributes == nullptr || data == nullptr) {
    return call_true(&TrueDriver::cuPointerGetAttributes, count, attributes, data, address);
  }
  tessera_host_info host;
  if (in_blocks && find_host_block(address, host)) {
    const CUresult told = call_true(&TrueDriver::cuPointerGetAttributes, count, attributes, data, address);
    for (unsigned i = 0; told == CUDA_SUCCESS && i < count; ++i) {
      (void)attribute_of(host, attributes[i], address, data[i]);
    }
    return told;
  }
  const CUresult zeros = call_true(&TrueDriver::cuPointerGetAttributes, count, attributes, data, CUdeviceptr{0});
  tessera_block_info block;
  if (zeros != CUDA_SUCCESS || in_blocks || !find_block(address, block)) return zeros;
  for (unsigned i = 0; i < count; ++i) {
    (void)attribute_of(block, attributes[i], address, data[i]);
  }
  return CUDA_SUCCESS;
}
