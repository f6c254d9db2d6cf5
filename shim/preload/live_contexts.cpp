#include "live_contexts.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "in_context.hpp"
#include "lifecycle.hpp"
#include "program_waits.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constinit std::mutex contexts_lock;

// Never destroyed: exit handlers may still end one.
std::vector<CUcontext>& created_contexts() {
  static auto& contexts = *new std::vector<CUcontext>;
  return contexts;
}

std::vector<CUcontext> contexts_but(CUcontext current) {
  std::vector<CUcontext> others;
  {
    const std::lock_guard<std::mutex> lock(contexts_lock);
    others = created_contexts();
  }
  int devices = 0;
  (void)call_true(&TrueDriver::cuDeviceGetCount, &devices);
  for (CUdevice device = 0; device < devices; ++device) {
    // On a machine with one device a current primary context is the only one.
    if (devices == 1 && home_of(device) == current) break;
    if (const CUcontext primary = active_primary(device); primary != nullptr) others.push_back(primary);
  }
  std::erase(others, current);
  return others;
}

}  // namespace

void note_context(CUcontext context) {
  const std::lock_guard<std::mutex> lock(contexts_lock);
  created_contexts().push_back(context);
}

void forget_context(CUcontext context) {
  const std::lock_guard<std::mutex> lock(contexts_lock);
  std::erase(created_contexts(), context);
}

CUresult finish_all_work(CUresult& elsewhere) {
  elsewhere = CUDA_SUCCESS;
  CUcontext current = nullptr;
  CUresult result = call_true(&TrueDriver::cuCtxGetCurrent, &current);
  if (result != CUDA_SUCCESS) return result;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const QueuedWork queued;
  result = call_true(&TrueDriver::cuCtxSynchronize);
  if (result != CUDA_SUCCESS) return result;
  queued.is_all_over();
  for (const CUcontext context : contexts_but(current)) {
    const CUresult other = InContext(context).finish();
    if (elsewhere == CUDA_SUCCESS) elsewhere = other;
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload
