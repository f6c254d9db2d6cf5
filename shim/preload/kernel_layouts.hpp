// Where addresses can be in a kernel's parameters, by function handle.
//
// Filled at a function's first launch from cuFuncGetParamInfo or cuKernelGetParamInfo, which are exact. Both are
// needed: a launch may be given a CUkernel cast to CUfunction (the CUDA runtime does so), and each query accepts only
// its own kind of handle. If neither query returns the complete layout, the layout is unknown; it is never taken for a
// layout without parameters. Layouts are dropped when modules or libraries are unloaded or contexts end, since handles
// are reused. Only the *places* are cached: their words are read at every launch, as a field may hold an address at one
// launch and not at another.
//
// A launch finds the layout in a table that takes no lock (layout_cache.hpp); what that has no room for is behind it.
//
// Thread safety: any thread; a function that is not in the table takes a shared lock.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda_api.hpp"
#include "launch_facts.hpp"
#include "layout_cache.hpp"

namespace tessera::preload {

struct KernelLayout {
  const char* name = nullptr;  // the driver's string, valid as long as the function
  std::vector<ParameterPlace> places;
};

class KernelLayouts {
 public:
  // Calls visit(name, places) with the function's layout; name may be null. If the layout is unknown, places is empty
  // and the result is false.
  template <class Visit>
  static bool visit(CUfunction function, Visit visit) {
    const std::uint32_t generation = detail::launch_facts.layouts.load(std::memory_order_acquire);
    LayoutCache::Found found;
    if (cache_.find(function, generation, found)) [[likely]] {
      visit(found.name, found.places);
      return true;
    }
    return of_process().visit_known(function, generation, visit);
  }

  static void forget_all();

 private:
  // A separate function, so that other launches do not pay for it.
  template <class Visit>
  [[gnu::noinline]] bool visit_known(CUfunction function, std::uint32_t generation, Visit visit) {
    {
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      const auto known = layouts_.find(function);
      if (known != layouts_.end()) {
        cache_.keep(function, generation, known->second);
        visit(known->second.name, known->second.places);
        return true;
      }
    }
    KernelLayout layout;
    const bool told = ask(function, layout);
    visit(layout.name, std::span<const ParameterPlace>(layout.places));
    if (told) remember(function, layout);
    return told;
  }

  // Returns false, with no places, if no query returns the complete layout.
  static bool ask(CUfunction function, KernelLayout& layout);
  void remember(CUfunction function, const KernelLayout& layout);

  static KernelLayouts& of_process();

  static constinit LayoutCache cache_;

  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, LayoutCache::Found> layouts_;
  PlaceLists lists_;
};

}  // namespace tessera::preload
