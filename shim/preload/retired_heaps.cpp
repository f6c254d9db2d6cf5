#include "retired_heaps.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "in_context.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

namespace detail {
constinit std::atomic<bool> any_retired{false};
}  // namespace detail

namespace {

struct Retired {
  tessera_allocator* allocator;
  std::vector<RetiredContext> contexts;
};

constinit std::mutex retired_lock;

// Never destroyed: exit handlers may still free blocks.
std::vector<Retired>& retired_heaps() {
  static auto& all = *new std::vector<Retired>;
  return all;
}

tessera_result bring_all_in(tessera_allocator* allocator) {
  tessera_moved moved{};
  moved.size = sizeof(moved);
  const tessera_result woken = tessera_wake(allocator, nullptr, &moved);
  return woken == TESSERA_OK && moved.stayed_bytes != 0 ? TESSERA_OUT_OF_MEMORY : woken;
}

}  // namespace

// Fetches everything once while eviction is still possible, which shows whether all blocks fit, and once more for those
// evicted in between.
tessera_result keep_all_in(tessera_allocator* allocator) {
  tessera_result result = bring_all_in(allocator);
  if (result == TESSERA_OK) result = tessera_set_automatic(allocator, 0);
  if (result != TESSERA_OK) return result;
  result = bring_all_in(allocator);
  if (result != TESSERA_OK) (void)tessera_set_automatic(allocator, 1);
  return result;
}

void retire(tessera_allocator* allocator, std::vector<RetiredContext> contexts) {
  const std::lock_guard<std::mutex> guard(retired_lock);
  retired_heaps().push_back({allocator, std::move(contexts)});
  detail::any_retired.store(true);
}

bool detail::free_in_retired(CUdeviceptr address, CUresult& result) {
  const std::lock_guard<std::mutex> guard(retired_lock);
  for (const Retired& heap : retired_heaps()) {
    if (tessera_manages(heap.allocator, address) == 0) continue;
    const Entry entry;
    result = call_true(&TrueDriver::cuCtxSynchronize);
    for (const RetiredContext& its : heap.contexts) {
      if (result == CUDA_SUCCESS) result = InContext(its.context).finish();
    }
    if (result == CUDA_SUCCESS) result = cuda_result(tessera_free(heap.allocator, address, TESSERA_NO_STREAM));
    return true;
  }
  return false;
}

void end_retired(CUcontext context) {
  if (!detail::any_retired.load()) return;
  const std::lock_guard<std::mutex> guard(retired_lock);
  for (auto heap = retired_heaps().begin(); heap != retired_heaps().end(); ++heap) {
    const auto its = std::find_if(heap->contexts.begin(), heap->contexts.end(),
                                  [context](const RetiredContext& each) { return each.context == context; });
    if (its == heap->contexts.end()) continue;
    const Entry entry;
    (void)InContext(context).finish();  // the call that ends the context reports its failures
    tessera_end_device(heap->allocator, its->device);
    heap->contexts.erase(its);
    if (!heap->contexts.empty()) break;
    tessera_allocator_destroy(heap->allocator);
    retired_heaps().erase(heap);
    break;
  }
  detail::any_retired.store(!retired_heaps().empty());
}

}  // namespace tessera::preload
