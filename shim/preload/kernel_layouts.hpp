// Where in a kernel's parameters an address can be, by function handle.
//
// Filled at a function's first launch from cuFuncGetParamInfo, which is exact, and forgotten when
// modules are unloaded, since handles are reused. Only the *places* are remembered: the words in
// them are read anew at every launch, as a field that held no address once may hold one now.
//
// Thread safety: any thread; reading takes a shared lock.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

// A parameter of at least one word; `index` in kernelParams.
struct WideParameter {
  std::uint32_t index;
  std::uint32_t words;
};

struct KernelLayout {
  const char* name = nullptr;  // the driver's string, lives as long as the function
  std::vector<WideParameter> parameters;
};

class KernelLayouts {
 public:
  // Calls visit(layout) with the function's layout. Errors: the driver's, for what is no function.
  template <class Visit>
  CUresult visit(CUfunction function, Visit visit) {
    {
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      const auto known = layouts_.find(function);
      if (known != layouts_.end()) {
        visit(known->second);
        return CUDA_SUCCESS;
      }
    }
    KernelLayout layout;
    const CUresult result = ask(function, layout);
    if (result != CUDA_SUCCESS) return result;
    visit(layout);
    remember(function, std::move(layout));
    return CUDA_SUCCESS;
  }

  void forget_all();

 private:
  // A CUkernel cast to CUfunction is a function too.
  static CUresult ask(CUfunction function, KernelLayout& layout);
  void remember(CUfunction function, KernelLayout layout);

  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, KernelLayout> layouts_;
};

// The process's one.
KernelLayouts& kernel_layouts();

}  // namespace tessera::preload
