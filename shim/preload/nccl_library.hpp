// Which NCCL a call is meant for, and which driver calls come from inside an NCCL.
//
// Our hooks have the names of NCCL's functions, so the program's libraries bind to them. A hook forwards the call to
// the NCCL that its caller would have been bound to: the one in the scope of the calling object (also a static one
// inside it, if its symbols are exported); otherwise the one whose functions were looked up by dlsym, since callers
// such as libffi have none in their scope.
//
// Thread safety: any thread. A known caller costs one comparison per known object, and no lock.
// Invariants: a known NCCL stays loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "nccl_api.hpp"

namespace tessera::preload {

struct TrueNccl {
#define NCCL_HOOK(name) decltype(&::name) name = nullptr;
#include "nccl_hooks.inc"
#undef NCCL_HOOK
  // Used by the hooks themselves.
  decltype(&::ncclCommCount) ncclCommCount = nullptr;
  decltype(&::ncclCommUserRank) ncclCommUserRank = nullptr;
  // The mapped range of the containing object, and whether that object is NCCL alone.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  bool alone = false;
};

namespace detail {
constexpr int kMostNccls = 4;
extern constinit std::atomic<const TrueNccl*> nccls[kMostNccls];
}  // namespace detail

// Whether `caller`, a return address, is in a stand-alone NCCL library. Costs one load in a program without NCCL.
inline bool lies_in_nccl(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const std::atomic<const TrueNccl*>& known : detail::nccls) {
    const TrueNccl* const nccl = known.load(std::memory_order_acquire);
    if (nccl == nullptr) return false;
    if (address >= nccl->low && address < nccl->high) return nccl->alone;
  }
  return false;
}

// Null if there is none, which is reported once.
const TrueNccl* nccl_for(const void* caller);

// The hook to return for a look-up of `name` that found `found`; null: return `found` itself. Calls by pointer are
// served for one NCCL per process; a second one is left alone, which is reported once.
void* nccl_hook(const char* name, const void* found);

template <class Function, class... Args>
NcclResult call_nccl(const TrueNccl* nccl, Function TrueNccl::*function, Args... args) {
  if (nccl == nullptr || nccl->*function == nullptr) return kNcclInvalidUsage;
  return (nccl->*function)(args...);
}

}  // namespace tessera::preload
