// Memory pools of the program: their creation and end, their amounts, trims, and sharing with other processes.
//
// Each pool exists in the driver, and most of its calls go there. Where the pool's blocks are ours, the driver's pool
// is empty: its amounts, and what a trim returns, are ours. Where it has both (blocks of a second context, or from
// before an export), amounts are sums.
#include <cstring>

#include "cuda_api.hpp"
#include "current_pools.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "opened_blocks.hpp"
#include "outcome.hpp"
#include "pool_lookup.hpp"
#include "shared_blocks.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// A failure to return memory concerns only us: it is reported in a line.
template <class Act>
void return_memory(const char* call, Act act) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return;
  const InPrimary in_primary;
  const tessera_result result = act(allocator);
  if (result != TESSERA_OK) (void)cuda_result_said(result, call);
}

// Releases what the heap holds unused until at most `keep` bytes are held.
void trim_device(CUdevice device, std::uint64_t keep, const char* call) {
  return_memory(call, [&](tessera_allocator* allocator) { return tessera_trim_device(allocator, device, keep); });
}

// Memory of freed blocks is the heap's, not the pool's. What the pool retains no longer, the heap returns. Memory that
// comes from no pool counts as the default pool's.
void trim_pool(ProgramPool& pool, std::uint64_t keep, const char* call) {
  const std::uint64_t less = pool.meter.trim(keep);
  if (pool.is_default) return trim_device(pool.device, keep, call);
  if (less == 0) return;
  return_memory(call,
                [&](tessera_allocator* allocator) { return tessera_trim_device_by(allocator, pool.device, less); });
}

std::uint64_t threshold_of(CUmemoryPool pool) {
  cuuint64_t threshold = 0;
  const CUresult told = call_true(&TrueDriver::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                  static_cast<void*>(&threshold));
  return told == CUDA_SUCCESS ? threshold : 0;
}

bool is_amount(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
         attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

std::uint64_t amount_of(const ProgramPool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return pool.meter.reserved(threshold_of(pool.handle.load()));
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return pool.meter.reserved_high(threshold_of(pool.handle.load()));
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return pool.meter.used();
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return pool.meter.used_high();
    default: return 0;
  }
}

}  // namespace

// ---- creation and end ---------------------------------------------------------------------------

TESSERA_HOOK cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const bool is_on_device = properties != nullptr && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const CUdevice device = is_on_device ? properties->location.id : -2;  // elsewhere: nothing is yielded
  const CUresult result = call_with_room({.device = device}, &TrueDriver::cuMemPoolCreate, pool, properties);
  if (result == CUDA_SUCCESS && !Entry::is_inside() && !stays_out()) program_pools().add(*pool, *properties);
  return result;
}

// Blocks that are not freed yet stay what they are, as CUDA has it.
TESSERA_HOOK cuMemPoolDestroy(CUmemoryPool pool) {
  ProgramPool* const known = program_pools().find(pool);
  const CUresult result = call_true(&TrueDriver::cuMemPoolDestroy, pool);
  current_pools().forget();  // of a device where it was the current one, the default pool is
  if (result != CUDA_SUCCESS) return result;
  expect_device_memory();
  if (known == nullptr) return result;
  program_pools().remove(*known);
  trim_pool(*known, 0, "cuMemPoolDestroy");
  return result;
}

// ---- the current pool ---------------------------------------------------------------------------

TESSERA_HOOK cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  const CUresult result = call_true(&TrueDriver::cuDeviceSetMemPool, device, pool);
  current_pools().forget();
  return result;
}

TESSERA_HOOK cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  const CUresult result = call_true(&TrueDriver::cuMemSetMemPool, location, type, pool);
  current_pools().forget();
  return result;
}

// ---- amounts ------------------------------------------------------------------------------------

TESSERA_HOOK cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep) {
  const CUresult result = call_true(&TrueDriver::cuMemPoolTrimTo, pool, keep);
  if (result != CUDA_SUCCESS) return result;
  expect_device_memory();
  if (ProgramPool* const known = running() != nullptr ? known_pool(pool) : nullptr) {
    trim_pool(*known, keep, "cuMemPoolTrimTo");
  }
  return result;
}

TESSERA_HOOK cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  const CUresult result = call_true(&TrueDriver::cuMemPoolGetAttribute, pool, attribute, value);
  if (result != CUDA_SUCCESS || value == nullptr || !is_amount(attribute) || running() == nullptr) return result;
  const ProgramPool* const known = known_pool(pool);
  if (known == nullptr) return result;
  cuuint64_t told = 0;
  std::memcpy(&told, value, sizeof(told));
  told += amount_of(*known, attribute);
  std::memcpy(value, &told, sizeof(told));
  return result;
}

// The driver releases memory above the threshold at the next synchronisation; Tessera does it right away. A watermark
// can only be reset.
TESSERA_HOOK cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  const CUresult result = call_true(&TrueDriver::cuMemPoolSetAttribute, pool, attribute, value);
  if (result != CUDA_SUCCESS || value == nullptr || running() == nullptr) return result;
  ProgramPool* const known = known_pool(pool);
  if (known == nullptr) return result;
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    trim_pool(*known, *static_cast<const cuuint64_t*>(value), "cuMemPoolSetAttribute");
  }
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) known->meter.reset_used_high();
  if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) known->meter.reset_reserved_high(threshold_of(pool));
  return result;
}

// A program that trims graph memory needs the memory elsewhere.
TESSERA_HOOK cuDeviceGraphMemTrim(CUdevice device) {
  const CUresult result = call_true(&TrueDriver::cuDeviceGraphMemTrim, device);
  if (result != CUDA_SUCCESS) return result;
  expect_device_memory();
  trim_device(device, 0, "cuDeviceGraphMemTrim");
  return result;
}

// ---- other processes ----------------------------------------------------------------------------

// The pool becomes the driver's, for all blocks from now on.
TESSERA_HOOK cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool, CUmemAllocationHandleType type,
                                              unsigned long long flags) {
  const CUresult result = call_true(&TrueDriver::cuMemPoolExportToShareableHandle, handle, pool, type, flags);
  ProgramPool* const known = result == CUDA_SUCCESS ? program_pools().find(pool) : nullptr;
  if (known != nullptr) known->ours.store(false);
  return result;
}

// A block from before the export is shared as by a legacy handle (shared_blocks.hpp): the other process has to run
// under the preload library too.
TESSERA_HOOK cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  if (!served(address)) return call_true(&TrueDriver::cuMemPoolExportPointer, data, address);
  const std::optional<PoolBlock> block = pool_blocks().find(address);
  const ProgramPool* const pool = block ? program_pools().by_number(block->pool) : nullptr;
  if (data == nullptr || pool == nullptr || !pool->exportable) return CUDA_ERROR_INVALID_VALUE;
  CUipcMemHandle shared;
  const CUresult result = share_block(address, shared, "cuMemPoolExportPointer");
  static_assert(sizeof(shared) == sizeof(*data));
  if (result == CUDA_SUCCESS) std::memcpy(data, &shared, sizeof(shared));
  return result;
}

TESSERA_HOOK cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  SharedBlock block{};
  if (data != nullptr) std::memcpy(&block, data, sizeof(block));
  if (address == nullptr || block.mark != kSharedMark) {
    return call_true(&TrueDriver::cuMemPoolImportPointer, address, pool, data);
  }
  cuuint64_t threshold = 0;
  const CUresult asked = call_true(&TrueDriver::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                   static_cast<void*>(&threshold));
  if (asked != CUDA_SUCCESS) return asked;  // no pool
  const CUresult opened = open_block(block, OpenedBy::kPool, address);
  return opened == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : opened;
}
