#include "kernel_layouts.hpp"

#include <algorithm>
#include <mutex>

#include "true_driver.hpp"

namespace tessera::preload {
namespace {

// The driver says CUDA_ERROR_INVALID_VALUE for the first index that is none.
template <class Handle, class Function>
CUresult ask_parameters(Function TrueDriver::*info, Handle handle, KernelLayout& layout) {
  for (std::uint32_t index = 0;; ++index) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult result =
        call_true(info, handle, static_cast<std::size_t>(index), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) return CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) return result;
    if (bytes >= sizeof(CUdeviceptr)) {
      layout.places.push_back({index, static_cast<std::uint32_t>(bytes)});
    }
  }
}

}  // namespace

thread_local constinit std::array<KernelLayouts::Recent, KernelLayouts::kRecent>
    KernelLayouts::recent_{};

void KernelLayouts::keep(Recent& recent, CUfunction function, std::uint64_t generation,
                         const KernelLayout& layout) {
  if (layout.places.size() > recent.places.size()) return;
  recent.function = function;
  recent.generation = generation;
  recent.name = layout.name;
  recent.count = static_cast<std::uint32_t>(layout.places.size());
  std::copy(layout.places.begin(), layout.places.end(), recent.places.begin());
}

CUresult KernelLayouts::ask(CUfunction function, KernelLayout& layout) {
  const CUresult result = ask_parameters(&TrueDriver::cuFuncGetParamInfo, function, layout);
  if (result == CUDA_SUCCESS) {
    // Without a name the launch is only harder to recognise in a trace.
    (void)call_true(&TrueDriver::cuFuncGetName, &layout.name, function);
    return CUDA_SUCCESS;
  }
  const auto kernel = reinterpret_cast<CUkernel>(function);
  const CUresult as_kernel = ask_parameters(&TrueDriver::cuKernelGetParamInfo, kernel, layout);
  if (as_kernel != CUDA_SUCCESS) return result;
  (void)call_true(&TrueDriver::cuKernelGetName, &layout.name, kernel);
  return CUDA_SUCCESS;
}

void KernelLayouts::remember(CUfunction function, KernelLayout layout) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  layouts_.try_emplace(function, std::move(layout));
}

void KernelLayouts::forget_all() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  generation_.fetch_add(1, std::memory_order_release);
  layouts_.clear();
}

KernelLayouts& kernel_layouts() {
  // Never destroyed: programs launch from their own exit handlers.
  static KernelLayouts& layouts = *new KernelLayouts;
  return layouts;
}

}  // namespace tessera::preload
