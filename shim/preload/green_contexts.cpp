#include "green_contexts.hpp"

#include <iterator>
#include <map>
#include <mutex>

#include "in_context.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

namespace {

struct Green {
  CUgreenCtx green;
  CUcontext primary;
};

constinit std::mutex greens_lock;

// Keyed by their CUcontext. Never destroyed: programs end them in exit handlers.
std::map<CUcontext, Green>& greens() {
  static auto& all = *new std::map<CUcontext, Green>;
  return all;
}

// Null if `context` is not a green context.
CUcontext primary_of(CUcontext context) {
  const std::lock_guard<std::mutex> lock(greens_lock);
  const auto known = greens().find(context);
  return known != greens().end() ? known->second.primary : nullptr;
}

CUcontext primary_of_current() {
  CUcontext current = nullptr;
  const CUresult told = call_true(&TrueDriver::cuCtxGetCurrent, &current);
  return told == CUDA_SUCCESS && current != nullptr ? primary_of(current) : nullptr;
}

// The green context keeps its primary context alive, so no reference is needed here.
CUcontext find_primary(CUcontext context) {
  const CUdevice device = InContext(context).device();
  CUcontext primary = nullptr;
  if (device < 0 || call_true(&TrueDriver::cuDevicePrimaryCtxRetain, &primary, device) != CUDA_SUCCESS) return nullptr;
  (void)call_true(&TrueDriver::cuDevicePrimaryCtxRelease_v2, device);
  return primary;
}

void note(CUgreenCtx green, CUcontext context) {
  if (primary_of(context) != nullptr) return;
  const CUcontext primary = find_primary(context);
  if (primary == nullptr || primary == context) return;
  const std::lock_guard<std::mutex> lock(greens_lock);
  greens()[context] = {green, primary};
  detail::launch_facts.any_green.store(true);
}

}  // namespace

bool detail::is_green_default(CUstream stream) {
  const bool usual = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  return usual && primary_of_current() != nullptr;
}

bool InPrimary::push() {
  const CUcontext primary = primary_of_current();
  return primary != nullptr && call_true(&TrueDriver::cuCtxPushCurrent_v2, primary) == CUDA_SUCCESS;
}

void InPrimary::pop() {
  CUcontext popped = nullptr;
  (void)call_true(&TrueDriver::cuCtxPopCurrent_v2, &popped);
}

}  // namespace tessera::preload

using namespace tessera::preload;

TESSERA_HOOK cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  const CUresult result = call_true(&TrueDriver::cuCtxFromGreenCtx, context, green);
  if (result == CUDA_SUCCESS) note(green, *context);
  return result;
}

// Forgotten before the call: afterwards another context may have the same handle.
TESSERA_HOOK cuGreenCtxDestroy(CUgreenCtx green) {
  std::map<CUcontext, Green> ended;
  {
    const std::lock_guard<std::mutex> lock(greens_lock);
    for (auto each = greens().begin(); each != greens().end();) {
      auto next = std::next(each);
      if (each->second.green == green) ended.insert(greens().extract(each));
      each = next;
    }
  }
  const CUresult result = call_true(&TrueDriver::cuGreenCtxDestroy, green);
  const std::lock_guard<std::mutex> lock(greens_lock);
  if (result != CUDA_SUCCESS) greens().merge(ended);
  return result;
}
