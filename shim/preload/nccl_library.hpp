// Which NCCL a call is meant for, and which calls of the driver come from inside one.
//
// Our hooks have the names of NCCL's functions, so the program's libraries are bound to them. A hook passes
// the call on to the NCCL that its caller would have been bound to: the one in the scope of the calling
// object (also a static one inside of it, if it shows its names); else the one whose functions were looked
// up by dlsym, since callers such as libffi have none in their scope.
//
// Thread safety: any thread. A known caller costs a compare for each known object, and no lock.
// Invariants: an NCCL that is known stays loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "nccl_api.hpp"

namespace tessera::preload {

struct TrueNccl {
#define NCCL_HOOK(name) decltype(&::name) name = nullptr;
#include "nccl_hooks.inc"
#undef NCCL_HOOK
  // What the hooks themselves need.
  decltype(&::ncclCommCount) ncclCommCount = nullptr;
  decltype(&::ncclCommUserRank) ncclCommUserRank = nullptr;
  // Where the object that it is in is mapped, and whether that is NCCL alone.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  bool alone = false;
};

namespace detail {
constexpr int kMostNccls = 4;
extern constinit std::atomic<const TrueNccl*> nccls[kMostNccls];
}  // namespace detail

// Whether `caller`, a return address, lies in an NCCL that is a library of its own. One load in a program
// without NCCL.
inline bool lies_in_nccl(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const std::atomic<const TrueNccl*>& known : detail::nccls) {
    const TrueNccl* const nccl = known.load(std::memory_order_acquire);
    if (nccl == nullptr) return false;
    if (address >= nccl->low && address < nccl->high) return nccl->alone;
  }
  return false;
}

// Null when there is none, which is said once.
const TrueNccl* nccl_for(const void* caller);

// The hook that answers a look-up of `name` which found `found`; null: `found` itself does. Calls by pointer
// reach one NCCL of a process; a second one is left alone, and that is said once.
void* nccl_hook(const char* name, const void* found);

template <class Function, class... Args>
NcclResult call_nccl(const TrueNccl* nccl, Function TrueNccl::*function, Args... args) {
  if (nccl == nullptr || nccl->*function == nullptr) return kNcclInvalidUsage;
  return (nccl->*function)(args...);
}

}  // namespace tessera::preload
