#include "host_blocks.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "driver_objects.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "live_contexts.hpp"
#include "nccl_library.hpp"
#include "outcome.hpp"
#include "tessera/interpose.h"
#include "true_driver.hpp"

namespace tessera::preload {

namespace detail {
constinit std::atomic<std::uintptr_t> host_low{0};
constinit std::atomic<std::uintptr_t> host_high{0};
}  // namespace detail

namespace {

// In which blocks are pinned; null before the first.
constinit std::atomic<CUcontext> host_home{nullptr};

struct HostBlockNotes {
  std::mutex lock;
  std::vector<void*> set_aside;                   // freed, but work may still use them
  std::unordered_set<std::uint64_t> synchronous;  // generations
};

// Never destroyed: exit handlers may free.
HostBlockNotes& host_block_notes() {
  static auto& notes = *new HostBlockNotes;
  return notes;
}

// Makes the current context the one that is served if none is yet. It has to be a primary context and the one whose
// device blocks are managed: a helper's context may end long before the program.
bool is_host_home(CUcontext context) {
  const CUcontext known = host_home.load();
  if (known != nullptr || context == nullptr) return known == context && context != nullptr;
  CUdevice device = 0;
  if (call_true(&TrueDriver::cuCtxGetDevice, &device) != CUDA_SUCCESS || active_primary(device) != context) {
    return false;
  }
  if (started() == nullptr || !take_home(device, context) || started() == nullptr) return false;
  CUcontext none = nullptr;
  return host_home.compare_exchange_strong(none, context) || none == context;
}

void learn_host_range(tessera_allocator* allocator) {
  if (detail::host_high.load() != 0) return;
  const void* low = nullptr;
  const void* high = nullptr;
  tessera_host_range(allocator, &low, &high);
  detail::host_low.store(reinterpret_cast<std::uintptr_t>(low));
  detail::host_high.store(reinterpret_cast<std::uintptr_t>(high));
}

// All work that was queued when these were freed is over.
void give_back_set_aside(std::vector<void*> blocks) {
  for (void* const block : blocks) (void)tessera_host_free(running(), block);
}

void set_aside(void* host) {
  HostBlockNotes& notes = host_block_notes();
  const std::lock_guard<std::mutex> lock(notes.lock);
  notes.set_aside.push_back(host);
}

bool is_set_aside(const void* host) {
  HostBlockNotes& notes = host_block_notes();
  const std::lock_guard<std::mutex> lock(notes.lock);
  return std::find(notes.set_aside.begin(), notes.set_aside.end(), host) != notes.set_aside.end();
}

}  // namespace

bool serve_host_block(void** host, std::size_t bytes, unsigned flags, const void* caller) {
  constexpr unsigned kServed = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  if (host == nullptr || bytes == 0 || (flags & ~kServed) != 0 || any_capture() || stays_out()) return false;
  if (lies_in_nccl(caller) || lies_in_known_driver(caller)) return false;
  const InPrimary in_primary;
  const Entry entry;
  CUcontext context = nullptr;
  if (entry.nested() || call_true(&TrueDriver::cuCtxGetCurrent, &context) != CUDA_SUCCESS || !is_host_home(context)) {
    return false;
  }
  tessera_allocator* const allocator = running();
  void* made = nullptr;
  if (allocator == nullptr || tessera_host_malloc_marked(allocator, bytes, flags, &made) != TESSERA_OK) return false;
  learn_host_range(allocator);
  *host = made;
  return true;
}

CUresult free_host_block(void* host) {
  const InPrimary in_primary;
  const Entry entry;
  tessera_host_info block;
  if (entry.nested() || !find_host_block(reinterpret_cast<std::uintptr_t>(host), block) || block.start != host) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HostBlockNotes& notes = host_block_notes();
  {
    const std::lock_guard<std::mutex> lock(notes.lock);
    notes.synchronous.erase(block.generation);
  }
  if (any_capture()) {
    set_aside(host);
    return CUDA_SUCCESS;
  }
  std::vector<void*> earlier;
  {
    const std::lock_guard<std::mutex> lock(notes.lock);
    earlier.swap(notes.set_aside);
  }
  CUresult elsewhere = CUDA_SUCCESS;
  const CUresult finished = finish_all_work(elsewhere);
  if (finished != CUDA_SUCCESS || elsewhere != CUDA_SUCCESS) {
    const std::lock_guard<std::mutex> lock(notes.lock);
    notes.set_aside.insert(notes.set_aside.end(), earlier.begin(), earlier.end());
    if (finished != CUDA_SUCCESS) return finished;
    notes.set_aside.push_back(host);
    return CUDA_SUCCESS;
  }
  give_back_set_aside(std::move(earlier));
  return cuda_result(tessera_host_free(running(), host));
}

bool find_host_block(std::uintptr_t address, tessera_host_info& block) {
  block = {};
  block.size = sizeof(block);
  return running() != nullptr &&
         tessera_host_query(running(), reinterpret_cast<const void*>(address), &block) == TESSERA_OK &&
         !is_set_aside(block.start);
}

void set_host_block_synchronous(const tessera_host_info& block, bool synchronous) {
  HostBlockNotes& notes = host_block_notes();
  const std::lock_guard<std::mutex> lock(notes.lock);
  if (synchronous) {
    notes.synchronous.insert(block.generation);
  } else {
    notes.synchronous.erase(block.generation);
  }
}

bool is_host_block_synchronous(const tessera_host_info& block) {
  HostBlockNotes& notes = host_block_notes();
  const std::lock_guard<std::mutex> lock(notes.lock);
  return notes.synchronous.count(block.generation) != 0;
}

bool has_host_blocks() { return host_home.load() != nullptr; }

void forget_host_blocks() {
  host_home.store(nullptr);
  detail::host_high.store(0);
  detail::host_low.store(0);
}

void end_host_blocks(CUcontext context, tessera_allocator* allocator) {
  CUcontext its = context;
  if (context == nullptr || !host_home.compare_exchange_strong(its, nullptr)) return;
  forget_host_blocks();
  HostBlockNotes& notes = host_block_notes();
  {
    const std::lock_guard<std::mutex> lock(notes.lock);
    notes.set_aside.clear();
    notes.synchronous.clear();
  }
  if (allocator != nullptr) tessera_host_end(allocator);
}

}  // namespace tessera::preload
