#include "pool_lookup.hpp"

#include "current_pools.hpp"
#include "lifecycle.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

// Null if it is not the device's default pool.
ProgramPool* known_as_default(CUmemoryPool handle, CUdevice device) {
  CUmemoryPool usual = nullptr;
  const bool is_default =
      call_true(&TrueDriver::cuDeviceGetDefaultMemPool, &usual, device) == CUDA_SUCCESS && usual == handle;
  return is_default ? program_pools().add_default(handle, device) : nullptr;
}

PoolHere pool_on(CUmemoryPool handle, CUdevice device) {
  ProgramPool* pool = program_pools().find(handle);
  if (pool == nullptr && handle != nullptr) pool = known_as_default(handle, device);
  const bool is_ours = pool != nullptr && pool->device == device && pool->ours.load(std::memory_order_relaxed);
  return {is_ours, pool};
}

}  // namespace

PoolHere pool_here(CUmemoryPool handle) {
  const std::optional<CurrentContext> here = current_context();
  return here ? pool_on(handle, here->device) : PoolHere{};
}

PoolHere current_pool() {
  const std::optional<CurrentContext> here = current_context();
  CUmemoryPool current = nullptr;
  const auto ask = [&](CUmemoryPool& pool) {
    return call_true(&TrueDriver::cuDeviceGetMemPool, &pool, here->device) == CUDA_SUCCESS;
  };
  const bool told = here && current_pools().find(here->device, current, ask);
  return told ? pool_on(current, here->device) : PoolHere{true, nullptr};
}

CurrentPools& current_pools() {
  static constinit CurrentPools pools;
  return pools;
}

ProgramPool* known_pool(CUmemoryPool handle) {
  if (ProgramPool* const pool = program_pools().find(handle)) return pool;
  int devices = 0;
  if (handle == nullptr || call_true(&TrueDriver::cuDeviceGetCount, &devices) != CUDA_SUCCESS) return nullptr;
  for (CUdevice device = 0; device < devices; ++device) {
    if (ProgramPool* const pool = known_as_default(handle, device)) return pool;
  }
  return nullptr;
}

}  // namespace tessera::preload
