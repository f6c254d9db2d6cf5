// Pinned host memory: blocks of Tessera's host budget where host_blocks.hpp can serve them; else the driver's, which is
// counted, and retried once after Tessera has returned pinned memory that it does not use.
#include "cuda_api.hpp"
#include "driver_amounts.hpp"
#include "green_contexts.hpp"
#include "host_blocks.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

std::uint64_t value_of(const void* host) { return reinterpret_cast<std::uint64_t>(host); }

// Whether Tessera has returned pinned memory to the machine.
bool yielded_host_memory() {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return false;
  const InPrimary in_primary;
  std::uint64_t yielded = 0;
  const tessera_result result = tessera_host_yield(allocator, &yielded);
  if (result != TESSERA_OK) (void)cuda_result_said(result, "yielding host memory");
  return result == TESSERA_OK && yielded != 0;
}

template <class Function, class... Args>
CUresult call_with_host_room(Function TrueDriver::*function, Args... args) {
  const CUresult result = call_true(function, args...);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || !yielded_host_memory()) return result;
  return call_true(function, args...);
}

CUresult counted(CUresult result, tessera_beside kind, const void* host, std::size_t bytes) {
  if (result == CUDA_SUCCESS) driver_amounts().add(kind, value_of(host), bytes);
  return result;
}

}  // namespace

TESSERA_HOOK cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  if (serve_host_block(host, bytes, flags, TESSERA_CALLER)) return CUDA_SUCCESS;
  const CUresult result = call_with_host_room(&TrueDriver::cuMemHostAlloc, host, bytes, flags);
  return counted(result, TESSERA_BESIDE_HOST, result == CUDA_SUCCESS ? *host : nullptr, bytes);
}

TESSERA_HOOK cuMemAllocHost_v2(void** host, std::size_t bytes) {
  if (serve_host_block(host, bytes, 0, TESSERA_CALLER)) return CUDA_SUCCESS;
  const CUresult result = call_with_host_room(&TrueDriver::cuMemAllocHost_v2, host, bytes);
  return counted(result, TESSERA_BESIDE_HOST, result == CUDA_SUCCESS ? *host : nullptr, bytes);
}

TESSERA_HOOK cuMemFreeHost(void* host) {
  if (in_host_blocks(host)) return free_host_block(host);
  const CUresult result = call_true(&TrueDriver::cuMemFreeHost, host);
  if (result == CUDA_SUCCESS) driver_amounts().remove(TESSERA_BESIDE_HOST, value_of(host));
  return result;
}

// The address of the device is that of the host, which the driver confirms for the chunk that the block is in.
TESSERA_HOOK cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned flags) {
  tessera_host_info block;
  if (in_host_blocks(host) && !find_host_block(value_of(host), block)) return CUDA_ERROR_INVALID_VALUE;
  return call_true(&TrueDriver::cuMemHostGetDevicePointer_v2, address, host, flags);
}

TESSERA_HOOK cuMemHostGetFlags(unsigned* flags, void* host) {
  if (!in_host_blocks(host)) return call_true(&TrueDriver::cuMemHostGetFlags, flags, host);
  tessera_host_info block;
  if (flags == nullptr || !find_host_block(value_of(host), block)) return CUDA_ERROR_INVALID_VALUE;
  *flags = block.mark | CU_MEMHOSTALLOC_DEVICEMAP;  // the driver reports that for all of it
  return CUDA_SUCCESS;
}

// A block was allocated, so it can be neither registered nor unregistered. To the driver its chunk is registered, and
// must stay so.
TESSERA_HOOK cuMemHostRegister(void* host, std::size_t bytes, unsigned flags) {
  if (in_host_blocks(host)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_with_host_room(&TrueDriver::cuMemHostRegister, host, bytes, flags);
  return counted(result, TESSERA_BESIDE_REGISTERED, host, bytes);
}

TESSERA_HOOK cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags) {
  if (in_host_blocks(host)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_with_host_room(&TrueDriver::cuMemHostRegister_v2, host, bytes, flags);
  return counted(result, TESSERA_BESIDE_REGISTERED, host, bytes);
}

TESSERA_HOOK cuMemHostUnregister(void* host) {
  if (in_host_blocks(host)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call_true(&TrueDriver::cuMemHostUnregister, host);
  if (result == CUDA_SUCCESS) driver_amounts().remove(TESSERA_BESIDE_REGISTERED, value_of(host));
  return result;
}
