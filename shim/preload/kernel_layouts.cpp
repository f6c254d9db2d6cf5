#include "kernel_layouts.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>

#include "lifecycle.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

enum class Answer {
  kNothing,  // the query failed
  kNone,     // there is no first parameter
  kAll,
};

// The driver returns CUDA_ERROR_INVALID_VALUE for the first index beyond the last parameter.
template <class Handle, class Function>
Answer ask_parameters(Function TrueDriver::*info, Handle handle, KernelLayout& layout) {
  layout.places.clear();
  for (std::uint32_t index = 0;; ++index) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult result = call_true(info, handle, static_cast<std::size_t>(index), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) return index == 0 ? Answer::kNone : Answer::kAll;
    if (result != CUDA_SUCCESS) {
      layout.places.clear();
      return Answer::kNothing;
    }
    if (bytes >= sizeof(CUdeviceptr)) {
      layout.places.push_back(
          {static_cast<std::uint16_t>(index), PartlyFilled::kNo, static_cast<std::uint32_t>(bytes)});
    }
  }
}

// A driver may also return "no such parameter" for a handle of the other kind. So a kernel without parameters counts
// only if this kind of handle also has a name.
template <class Handle, class Info, class Name>
bool ask_as(Info TrueDriver::*info, Name TrueDriver::*name, Handle handle, KernelLayout& layout) {
  const Answer answer = ask_parameters(info, handle, layout);
  const char* its_name = nullptr;
  const bool named = call_true(name, &its_name, handle) == CUDA_SUCCESS;
  if (named) layout.name = its_name;
  for (ParameterPlace& place : layout.places) place.filled = partly_filled(layout.name, place.bytes);
  return answer == Answer::kAll || (answer == Answer::kNone && named);
}

bool ask_as_function(CUfunction function, KernelLayout& layout) {
  return ask_as(&TrueDriver::cuFuncGetParamInfo, &TrueDriver::cuFuncGetName, function, layout);
}

// NCCL's kernels, by the prefix of the (possibly mangled) name: they wait for kernels of other ranks.
bool is_collective(const char* name) {
  if (name == nullptr) return false;
  std::string_view rest(name);
  if (rest.starts_with("_Z")) rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 2), rest.size()));
  return rest.starts_with("nccl");
}

}  // namespace

constinit LayoutCache KernelLayouts::cache_;

bool KernelLayouts::ask(CUfunction handle, KernelLayout& layout) {
  if (ask_as_function(handle, layout)) return true;
  const auto kernel = reinterpret_cast<CUkernel>(handle);
  if (ask_as(&TrueDriver::cuKernelGetParamInfo, &TrueDriver::cuKernelGetName, kernel, layout)) {
    return true;
  }
  CUfunction of_context = nullptr;
  return call_true(&TrueDriver::cuKernelGetFunction, &of_context, kernel) == CUDA_SUCCESS &&
         ask_as_function(of_context, layout);
}

void KernelLayouts::remember(CUfunction function, const KernelLayout& layout) {
  if (running() != nullptr && is_collective(layout.name)) tessera_expect_waiting(running(), layout.name);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto places = lists_.kept(layout.places);
  if (places) layouts_.try_emplace(function, LayoutCache::Found{layout.name, *places});
}

void KernelLayouts::forget_all() {
  KernelLayouts& all = of_process();
  const std::unique_lock<std::shared_mutex> lock(all.mutex_);
  detail::launch_facts.layouts.fetch_add(1, std::memory_order_release);
  all.layouts_.clear();
}

KernelLayouts& KernelLayouts::of_process() {
  // Never destroyed: programs launch from their own exit handlers.
  static KernelLayouts& layouts = *new KernelLayouts;
  return layouts;
}

}  // namespace tessera::preload
