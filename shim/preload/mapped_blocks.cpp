#include "mapped_blocks.hpp"

#include <mutex>
#include <set>
#include <tuple>

#include "driver_room.hpp"
#include "green_contexts.hpp"
#include "in_context.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "outside_words.hpp"
#include "pointer_tables.hpp"

namespace tessera::preload {
namespace {

// The context in which blocks of the device are used, where it is not the device of the current one: programs may make
// these calls in the context of another device, or in none.
CUcontext home_elsewhere(CUdevice device) {
  CUdevice current = -1;
  const bool is_there = call_true(&TrueDriver::cuCtxGetDevice, &current) == CUDA_SUCCESS && current == device;
  return is_there ? nullptr : home_of(device);
}

// The allocator for memory of the current context's device; null: the driver serves it.
tessera_allocator* allocator_on(CUdevice device) {
  CUdevice current = -1;
  CUcontext context = nullptr;
  if (call_true(&TrueDriver::cuCtxGetDevice, &current) != CUDA_SUCCESS || current != device ||
      call_true(&TrueDriver::cuCtxGetCurrent, &context) != CUDA_SUCCESS) {
    return nullptr;
  }
  tessera_allocator* const allocator = started();
  if (allocator == nullptr || home_of(device) == context) return allocator;
  return take_home(device, context) ? started() : nullptr;
}

// Nothing that only the driver has: compression, tiles, hosts, other operating systems.
bool is_plain(const CUmemAllocationProp& wanted) {
  return wanted.type == CU_MEM_ALLOCATION_TYPE_PINNED && wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         wanted.win32HandleMetaData == nullptr && wanted.allocFlags.compressionType == 0 &&
         wanted.allocFlags.usage == 0;
}

// Whether the driver accepts such requests here. It is asked once for each kind that is more than plain memory.
bool is_accepted(const CUmemAllocationProp& wanted) {
  using Kind = std::tuple<int, int, unsigned>;
  static constinit std::mutex kinds_lock;
  static auto& accepted = *new std::set<Kind>;
  const Kind kind{wanted.location.id, static_cast<int>(wanted.requestedHandleTypes),
                  wanted.allocFlags.gpuDirectRDMACapable};
  if (std::get<1>(kind) == 0 && std::get<2>(kind) == 0) return true;
  const std::lock_guard<std::mutex> guard(kinds_lock);
  if (accepted.contains(kind)) return true;
  Handle probe = 0;
  const CUresult asked = call_with_room({.bytes = kGranule, .device = wanted.location.id}, &TrueDriver::cuMemCreate,
                                        &probe, kGranule, &wanted, 0ULL);
  if (asked != CUDA_SUCCESS) return false;
  (void)call_true(&TrueDriver::cuMemRelease, probe);
  accepted.insert(kind);
  return true;
}

// The program gives up what was known of the memory there.
void forget_contents(CUdeviceptr address) {
  forget_tables_of(address);
  if (outside_words().any()) outside_words().forget_block(address);
}

// Copies the block's bytes to `to`, which the driver has mapped.
CUresult copy_block(const OurHandle& handle, CUdeviceptr to) {
  const InPrimary in_primary;
  const InContext in_home(home_elsewhere(handle.properties.location.id));
  const Entry entry;
  tessera_use use;
  const tessera_result begun =
      tessera_use_begin_blocking(running(), &handle.block, 1, TESSERA_NO_STREAM, TESSERA_READ, &use);
  if (begun != TESSERA_OK) return cuda_result_said(begun, "cuMemCreate");
  CUresult result = call_true(&TrueDriver::cuMemcpyDtoD_v2, to, CUdeviceptr{handle.block}, handle.bytes);
  if (result == CUDA_SUCCESS) result = call_true(&TrueDriver::cuCtxSynchronize);
  tessera_use_end(running(), &use);
  return result;
}

}  // namespace

bool can_serve(const CUmemAllocationProp& wanted) { return is_plain(wanted) && is_accepted(wanted); }

bool create_block(std::size_t bytes, CUdevice device, tessera_address& block) {
  const InPrimary in_primary;
  const InContext in_home(home_elsewhere(device));
  const Entry entry;
  if (entry.nested()) return false;
  tessera_allocator* const allocator = allocator_on(device);
  if (allocator == nullptr || tessera_mappable_create(allocator, device, bytes, &block) != TESSERA_OK) return false;
  learn_range(allocator);
  return true;
}

bool reserve_in_heap(std::size_t bytes, CUdeviceptr* address, CUdevice& device) {
  const InPrimary in_primary;
  const Entry entry;
  if (entry.nested() || call_true(&TrueDriver::cuCtxGetDevice, &device) != CUDA_SUCCESS) return false;
  tessera_allocator* const allocator = allocator_on(device);
  if (allocator == nullptr) return false;
  tessera_address start = 0;
  if (tessera_addresses_reserve(allocator, device, bytes, &start) != TESSERA_OK) return false;
  learn_range(allocator);
  *address = start;
  return true;
}

CUresult move_block(OurHandle& handle, tessera_address to) {
  const InPrimary in_primary;
  const InContext in_home(home_elsewhere(handle.properties.location.id));
  const Entry entry;
  tessera_allocator* const allocator = running();
  if (allocator == nullptr || handle.block == 0) return CUDA_SUCCESS;
  if (to == 0) forget_contents(handle.block);
  const tessera_result moved = tessera_mappable_move(allocator, handle.block, to, &handle.block);
  if (moved == TESSERA_NOT_SUPPORTED) return cuda_result(moved);
  return cuda_result_said(moved, to == 0 ? "cuMemUnmap" : "cuMemSetAccess");
}

void keep_on_device(const OurHandle& handle) {
  const InPrimary in_primary;
  const InContext in_home(home_elsewhere(handle.properties.location.id));
  const Entry entry;
  tessera_allocator* const allocator = running();
  if (allocator == nullptr || handle.block == 0) return;
  (void)cuda_result_said(tessera_expose(allocator, handle.block, "cuMemMap"), "cuMemMap");
}

CUresult destroy_block(const OurHandle& handle, const char* call) {
  const InPrimary in_primary;
  const InContext in_home(home_elsewhere(handle.properties.location.id));
  const Entry entry;
  tessera_allocator* const allocator = running();
  if (allocator == nullptr || handle.block == 0) return CUDA_SUCCESS;
  if (handle.open) forget_contents(handle.block);
  return cuda_result_said(tessera_mappable_destroy(allocator, handle.block), call);
}

CUresult grant_access(CUdeviceptr address, std::size_t bytes, CUdevice device) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUmemAccessDesc* const one = &access;
  return call_true(&TrueDriver::cuMemSetAccess, address, bytes, one, std::size_t{1});
}

CUresult copy_to(const OurHandle& handle, Handle real) {
  CUdeviceptr at = 0;
  CUresult result =
      call_true(&TrueDriver::cuMemAddressReserve, &at, handle.bytes, std::size_t{0}, CUdeviceptr{0}, 0ULL);
  if (result != CUDA_SUCCESS) return result;
  result = call_true(&TrueDriver::cuMemMap, at, handle.bytes, std::size_t{0}, real, 0ULL);
  if (result == CUDA_SUCCESS) {
    result = grant_access(at, handle.bytes, handle.properties.location.id);
    if (result == CUDA_SUCCESS) result = copy_block(handle, at);
    (void)call_true(&TrueDriver::cuMemUnmap, at, handle.bytes);
  }
  (void)call_true(&TrueDriver::cuMemAddressFree, at, handle.bytes);
  return result;
}

}  // namespace tessera::preload
