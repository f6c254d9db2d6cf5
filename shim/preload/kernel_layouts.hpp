// Where addresses can be in a kernel's parameters, by function handle.
//
// Filled at a function's first launch from cuFuncGetParamInfo or cuKernelGetParamInfo, which are exact. Both are
// needed: a launch may be given a CUkernel cast to CUfunction (the CUDA runtime does so), and each query accepts only
// its own kind of handle. If neither query returns the complete layout, the layout is unknown; it is never taken for a
// layout without parameters. Layouts are dropped when modules or libraries are unloaded or contexts end, since handles
// are reused. Only the *places* are cached: their words are read at every launch, as a field may hold an address at one
// launch and not at another.
//
// Each thread keeps copies of its most recently used layouts, so that a launch takes no lock and does no hash lookup.
// The copies own no memory and have no destructor: programs launch from exit handlers.
//
// Thread safety: any thread; a function not recently launched by this thread takes a shared lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda_api.hpp"
#include "partly_filled.hpp"

namespace tessera::preload {

// A parameter large enough to contain an address; `index` is its position in kernelParams.
struct ParameterPlace {
  std::uint16_t index;
  PartlyFilled filled;
  std::uint32_t bytes;
};

struct KernelLayout {
  const char* name = nullptr;  // the driver's string, valid as long as the function
  std::vector<ParameterPlace> places;
};

class KernelLayouts {
 public:
  // Calls visit(name, places) with the function's layout; name may be null. If the layout is unknown, places is empty
  // and the result is false.
  template <class Visit>
  bool visit(CUfunction function, Visit visit) {
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    Recent& recent = recent_of(function);
    if (recent.function == function && recent.generation == generation) {
      visit(recent.name, std::span(recent.places.data(), recent.count));
      return true;
    }
    return visit_known(function, recent, generation, visit);
  }

  void forget_all();

 private:
  struct Recent {
    CUfunction function;
    std::uint64_t generation;  // 0: empty
    const char* name;
    std::uint32_t count;
    std::array<ParameterPlace, 24> places;  // larger layouts are not cached here
  };
  static constexpr std::size_t kRecent = 16;

  static Recent& recent_of(CUfunction function) {
    const auto handle = reinterpret_cast<std::uintptr_t>(function);
    return recent_[(handle >> 4 ^ handle >> 9) % kRecent];
  }
  static void keep(Recent& recent, CUfunction function, std::uint64_t generation, const KernelLayout& layout);

  template <class Visit>
  bool visit_known(CUfunction function, Recent& recent, std::uint64_t generation, Visit visit) {
    {
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      const auto known = layouts_.find(function);
      if (known != layouts_.end()) {
        keep(recent, function, generation, known->second);
        visit(known->second.name, std::span<const ParameterPlace>(known->second.places));
        return true;
      }
    }
    KernelLayout layout;
    const bool told = ask(function, layout);
    visit(layout.name, std::span<const ParameterPlace>(layout.places));
    if (told) remember(function, std::move(layout));
    return told;
  }

  // Returns false, with no places, if no query returns the complete layout.
  static bool ask(CUfunction function, KernelLayout& layout);
  void remember(CUfunction function, KernelLayout layout);

  [[gnu::tls_model("initial-exec")]] static thread_local constinit std::array<Recent, kRecent> recent_;

  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, KernelLayout> layouts_;
  std::atomic<std::uint64_t> generation_{1};  // incremented when layouts are dropped
};

// The instance of this process.
KernelLayouts& kernel_layouts();

}  // namespace tessera::preload
