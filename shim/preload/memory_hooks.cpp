// Allocation and free: the program's device memory becomes managed blocks.
//
// Where Tessera does not work (no context yet, no virtual memory management on the device, switched off), the driver
// allocates as usual, and frees its own allocations: the address shows which side it belongs to. The driver also serves
// NCCL's own allocations, on any thread, because NCCL shares them with other devices and processes, and the allocations
// of a loader driver that stands in front of another one.
#include <atomic>
#include <cstdint>
#include <optional>

#include "capture.hpp"
#include "cuda_api.hpp"
#include "driver_objects.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "green_contexts.hpp"
#include "held_blocks.hpp"
#include "lifecycle.hpp"
#include "managed_use.hpp"
#include "nccl_library.hpp"
#include "opened_blocks.hpp"
#include "outcome.hpp"
#include "outside_memory.hpp"
#include "outside_words.hpp"
#include "pointer_tables.hpp"
#include "pool_lookup.hpp"
#include "program_pools.hpp"
#include "program_waits.hpp"
#include "retired_heaps.hpp"
#include "several_devices.hpp"
#include "torch_listener.hpp"
#include "true_driver.hpp"
#include "unfinished_uses.hpp"

using namespace tessera::preload;

namespace {

// Rows of cuMemAllocPitch start at multiples of this, which suits every kind of access.
constexpr std::size_t kPitchGrain = 512;

enum class Served { kDone, kNotOurs };

// True once per device.
bool is_first(std::atomic<std::uint64_t>& said, CUdevice device) {
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  return (said.fetch_or(bit) & bit) == 0;
}

void say_unmanaged(CUdevice device) {
  static constinit std::atomic<std::uint64_t> said{0};
  if (is_first(said, device))
    say("not in use on device %d: %s; `tessera doctor` says what is missing", device, tessera_last_error());
}

void say_second_context(CUdevice device) {
  static constinit std::atomic<std::uint64_t> said{0};
  if (is_first(said, device)) say("not in use in a second context on device %d", device);
}

// What a block counts in its pool. A size that no block can have counts as the largest one.
std::uint64_t counted(std::size_t bytes) { return bytes < PoolBlock::kMost ? bytes : PoolBlock::kMost; }

// Without a tag, where the allocator has too many, the block is untagged.
std::uint32_t tag_of(ProgramPool& pool, tessera_allocator* allocator) {
  const std::uint32_t known = pool.tag.load(std::memory_order_relaxed);
  if (known != ProgramPool::kNoTag) [[likely]]
    return known;
  std::uint32_t tag = 0;
  if (tessera_tag_number(allocator, pool.tag_name().c_str(), &tag) != TESSERA_OK) tag = 0;
  pool.tag.store(tag, std::memory_order_relaxed);
  return tag;
}

// Memory from a call without a stream is for all streams: it is allocated and freed with TESSERA_NO_STREAM. kNotOurs:
// the driver has to serve the call, and report its error if there is one.
Served allocate(CUdeviceptr* address, std::size_t bytes, tessera_stream stream, const char* call, const void* caller,
                CUresult& result, ProgramPool* pool = nullptr) {
  if (address == nullptr || bytes == 0 || lies_in_nccl(caller) || lies_in_known_driver(caller)) {
    return Served::kNotOurs;
  }
  if (of_green_default(static_cast<CUstream>(stream))) stream = TESSERA_NO_STREAM;
  const InPrimary in_primary;
  const std::optional<CurrentContext> here = current_context();
  if (!here) return Served::kNotOurs;
  const auto [device, context] = *here;
  const Entry entry;
  if (entry.nested()) return Served::kNotOurs;
  unfinished_uses().end_finished();
  tessera_allocator* allocator = started();
  if (allocator == nullptr) return Served::kNotOurs;
  if (home_of(device) != context) {
    if (!take_home(device, context)) {
      say_second_context(device);
      return Served::kNotOurs;
    }
    allocator = started();
    if (allocator == nullptr || !is_home(device, context)) return Served::kNotOurs;
  }
  if (pool != nullptr && !pool->meter.reserve(counted(bytes), pool->limit)) {
    say("%s: more than the pool's maximum size of %llu bytes", call, static_cast<unsigned long long>(pool->limit));
    result = CUDA_ERROR_OUT_OF_MEMORY;
    return Served::kDone;
  }
  tessera_address made = 0;
  const std::uint32_t tag = pool != nullptr ? tag_of(*pool, allocator) : 0;
  const tessera_result outcome = tessera_malloc_tagged(allocator, device, bytes, stream, tag, &made);
  if (outcome != TESSERA_OK && pool != nullptr) pool->meter.unreserve(counted(bytes), pool->limit);
  if (outcome == TESSERA_NOT_SUPPORTED) {
    say_unmanaged(device);
    return Served::kNotOurs;
  }
  result = cuda_result_said(outcome, call);
  if (outcome == TESSERA_OK) {
    learn_range(allocator);
    (void)program_pools().forget_block(made);  // left over from an earlier block that another interface freed
    if (pool != nullptr) pool->meter.count(counted(bytes), pool->limit);
    *address = made;
    look_for_torch();
  }
  return Served::kDone;
}

CUresult release(CUdeviceptr address, tessera_stream stream) {
  if (of_green_default(static_cast<CUstream>(stream))) stream = TESSERA_NO_STREAM;
  const InPrimary in_primary;
  forget_tables_of(address);
  const std::optional<PoolBlock> pooled = program_pools().forget_block(address);
  if (outside_words().any()) outside_words().forget_block(address);
  const tessera_result freed = tessera_free(running(), address, stream);
  if (freed != TESSERA_OK && pooled) program_pools().put_back(address, *pooled);
  return cuda_result(freed);
}

// When the work queued on `stream` so far is over.
CUresult release_later(CUdeviceptr address, CUstream stream) {
  tessera_block_info block;
  if (!find_block(address, block) || block.address != address) return CUDA_ERROR_INVALID_VALUE;
  {
    const InPrimary in_primary;
    forget_tables_of(address);
    (void)program_pools().forget_block(address);
    if (outside_words().any()) outside_words().forget_block(address);
  }
  unfinished_uses().free_after(stream, running(), address);
  return CUDA_SUCCESS;
}

// The same from a pool of the current device. Null: the default pool, where the driver names none.
Served allocate_from(ProgramPool* pool, CUdeviceptr* address, std::size_t bytes, CUstream stream, const char* call,
                     const void* caller, CUresult& result) {
  const Served served = allocate(address, bytes, stream_of(stream), call, caller, result, pool);
  if (served == Served::kDone && result == CUDA_SUCCESS) {
    pool_blocks().add(*address, {pool != nullptr ? pool->number : 0, counted(bytes)});
  }
  return served;
}

}  // namespace

TESSERA_HOOK cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  CUresult result = CUDA_SUCCESS;
  if (allocate(address, bytes, TESSERA_NO_STREAM, "cuMemAlloc", TESSERA_CALLER, result) == Served::kDone) {
    return result;
  }
  result = call_with_room({.bytes = bytes}, &TrueDriver::cuMemAlloc_v2, address, bytes);
  return note_address(result, OutsideMemory::Kind::kUnmanaged, address, bytes, {"cuMemAlloc", TESSERA_CALLER});
}

TESSERA_HOOK cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                                unsigned element_bytes) {
  const bool plain = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  const std::size_t row = (width + kPitchGrain - 1) / kPitchGrain * kPitchGrain;
  std::size_t bytes = 0;
  const bool fits = row >= width && !__builtin_mul_overflow(row, height, &bytes);
  CUresult result = CUDA_SUCCESS;
  if (plain && fits && pitch != nullptr &&
      allocate(address, bytes, TESSERA_NO_STREAM, "cuMemAllocPitch", TESSERA_CALLER, result) == Served::kDone) {
    if (result == CUDA_SUCCESS) *pitch = row;
    return result;
  }
  result = call_with_room({.bytes = fits ? bytes : TESSERA_YIELD_UNKNOWN}, &TrueDriver::cuMemAllocPitch_v2, address,
                          pitch, width, height, element_bytes);
  return note_address(result, OutsideMemory::Kind::kUnmanaged, address, bytes, {"cuMemAllocPitch", TESSERA_CALLER});
}

// Preserves a guarantee that programs rely on silently: when cuMemFree returns, all earlier work is over.
TESSERA_HOOK cuMemFree_v2(CUdeviceptr address) {
  CUresult told = CUDA_SUCCESS;
  if (free_if_retired(address, told)) return told;
  const bool put_off = served(address) && held_blocks().put_off_free(address, told);
  if (put_off && (told != CUDA_SUCCESS || any_capture())) return told;  // waiting is not allowed during a capture
  const Entry entry;
  if (!managed(address) || running() == nullptr || entry.nested()) {
    if (close_block(address, OpenedBy::kPool, told)) return told;
    const CUresult freed = note_freed(call_true(&TrueDriver::cuMemFree_v2, address), address);
    if (freed == CUDA_SUCCESS) expect_device_memory();
    return freed;
  }
  const InPrimary in_primary;  // the synchronisation covers green contexts too
  const QueuedWork queued;
  CUresult earlier = call_true(&TrueDriver::cuCtxSynchronize);
  if (earlier == CUDA_SUCCESS) queued.is_all_over();
  if (earlier == CUDA_SUCCESS) earlier = finish_elsewhere(address);
  if (put_off || earlier != CUDA_SUCCESS) return earlier;
  return release(address, TESSERA_NO_STREAM);
}

TESSERA_HOOK_PTSZ(cuMemAllocAsync, (CUdeviceptr * address, std::size_t bytes, CUstream given), {
  CUresult result = CUDA_SUCCESS;
  // In a capture this adds a graph node, with an address that the graph owns.
  const bool in_graph = capturing(stream);
  if (!in_graph) {
    const InContextOf its(stream);
    const PoolHere current = current_pool();
    if (current.is_ours && allocate_from(current.pool, address, bytes, stream, "cuMemAllocAsync", TESSERA_CALLER,
                                         result) == Served::kDone) {
      return result;
    }
  }
  result = call_with_room({.bytes = bytes, .stream = stream}, True, address, bytes, given);
  return in_graph ? result : note_pooled(result, address, bytes, {"cuMemAllocAsync", TESSERA_CALLER});
})

TESSERA_HOOK_PTSZ(cuMemAllocFromPoolAsync,
                  (CUdeviceptr * address, std::size_t bytes, CUmemoryPool pool, CUstream given), {
                    CUresult result = CUDA_SUCCESS;
                    const char* const call = "cuMemAllocFromPoolAsync";
                    const bool in_graph = capturing(stream);
                    if (!in_graph) {
                      const InContextOf its(stream);  // a pool of any other device is left to the driver
                      const PoolHere asked = pool_here(pool);
                      if (asked.is_ours && allocate_from(asked.pool, address, bytes, stream, call, TESSERA_CALLER,
                                                         result) == Served::kDone) {
                        return result;
                      }
                    }
                    result = call_with_room({.bytes = bytes, .stream = stream}, True, address, bytes, pool, given);
                    return in_graph ? result : note_pooled(result, address, bytes, {call, TESSERA_CALLER});
                  })

TESSERA_HOOK_PTSZ(cuMemFreeAsync, (CUdeviceptr address, CUstream given), {
  CUresult told = CUDA_SUCCESS;
  if (free_if_retired(address, told)) return told;
  if (served(address) && capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (served(address) && held_blocks().put_off_free(address, told)) return told;
  const Entry entry;
  if (!managed(address) || running() == nullptr || entry.nested()) {
    if (close_block(address, OpenedBy::kPool, told)) return told;
    const CUresult freed = note_freed(call_true(True, address, given), address);
    if (freed == CUDA_SUCCESS) expect_device_memory();
    return freed;
  }
  if (frees_apart(address, stream) && !unfinished_uses().is_over(stream)) return release_later(address, stream);
  return release(address, stream_of(stream));
})
