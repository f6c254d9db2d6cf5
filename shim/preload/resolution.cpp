// How a program gets our functions in place of the driver's.
//
// 1. By binding: we export the hooked names, and a preloaded library is searched first.
// 2. By dlsym or dlvsym on the driver's library: loader_entry.S calls tessera_preload_answer().
// 3. By cuGetProcAddress, in both versions.
//
// NCCL's functions are found in the first two ways (nccl_library.hpp).
//
// In each case the true look-up is made first. Only a successful result inside the driver or an NCCL is replaced, and
// never for code beneath the driver (driver_objects.hpp). A look-up starts nothing: that is left to the first
// allocation.
#include <dlfcn.h>

#include "bare_text.hpp"
#include "driver_objects.hpp"
#include "hook_table.hpp"
#include "nccl_library.hpp"
#include "newer_calls.hpp"
#include "true_driver.hpp"
#include "true_loader.hpp"

namespace tessera::preload {
namespace {

bool may_be_hooked(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

// The table covers every entry point up to this version, whichever headers were used to build it.
constexpr int kNewestVersion = TESSERA_NEWEST_CUDA;

bool may_be_of_nccl(const char* name) { return name != nullptr && begins_with(name, "nccl"); }

bool has_version(const char* symbol) {
  for (; *symbol != '\0'; ++symbol) {
    if (*symbol == '_') return true;
  }
  return false;
}

// A program built for a newer CUDA asks for versions that our table does not know. If the driver returns the same
// function for the newest version that we know, the function has not changed, and our hook fits.
bool unchanged_since_ours(const char* symbol, void* function, cuuint64_t flags) {
  void* ours = nullptr;
  const CUresult result = call_true(&TrueDriver::cuGetProcAddress_v2, symbol, &ours, kNewestVersion, flags,
                                    static_cast<CUdriverProcAddressQueryResult*>(nullptr));
  return result == CUDA_SUCCESS && ours == function;
}

// It does not matter in which object the result is: a thin loader driver returns functions of another file.
void replace(const char* symbol, void** function, int version, cuuint64_t flags, const void* caller) {
  if (!may_be_hooked(symbol) || function == nullptr || *function == nullptr) return;
  if (is_beneath_driver(caller, *function)) return;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Hook* hook = hook_by_version(symbol, version, per_thread);
  if (version > kNewestVersion && !unchanged_since_ours(symbol, *function, flags)) {
    const Watch watch = hook != nullptr ? Watch::kAllCalls : Watch::kAddresses;
    if (lies_in_driver(*function)) *function = watch_newer(symbol, *function, watch);
    return;
  }
  // The driver may also be asked for an ABI name; a name without a version suffix may be a first version, which differs
  // from the function that the base name stands for.
  if (hook == nullptr && has_version(symbol)) hook = hook_by_name(symbol);
  if (hook != nullptr) *function = hook->function;
}

// What the driver's own objects would find in the program's scope without us.
void* answer_beneath_us(const char* name, const void* caller) {
  const bool ours = may_be_hooked(name) && hook_by_name(name) != nullptr;
  return ours && lies_in_driver(caller) ? true_dlsym(RTLD_NEXT, name) : nullptr;
}

// A tool that wraps look-ups may get glibc's functions through a glibc handle, bypassing preloaded libraries.
void* loader_entry_for(const char* name, void* found) {
  if (same_text(name, "dlsym") && found == tessera_preload_true_dlsym()) {
    return reinterpret_cast<void*>(&tessera_preload_own_dlsym);
  }
  if (same_text(name, "dlvsym") && found == tessera_preload_true_dlvsym()) {
    return reinterpret_cast<void*>(&tessera_preload_own_dlvsym);
  }
  return nullptr;
}

bool may_be_of_loader(const char* name) { return name != nullptr && name[0] == 'd' && name[1] == 'l'; }

// The replacement for a driver export, for callers above the driver.
void* hook_for(const char* name, void* found, const void* caller) {
  if (found == nullptr || is_beneath_driver(caller, found) || !lies_in_known_driver(found)) return nullptr;
  if (const Hook* const hook = hook_by_name(name); hook != nullptr) return hook->function;
  return watch_newer(name, found, is_form_of_hook(name) ? Watch::kAllCalls : Watch::kAddresses);
}

template <class LookUp>
void* answer(void* handle, const char* name, const void* caller, LookUp look_up) {
  if (handle == RTLD_DEFAULT) return answer_beneath_us(name, caller);
  if (handle == RTLD_NEXT) return nullptr;
  if (may_be_of_loader(name)) return loader_entry_for(name, look_up());
  if (may_be_of_nccl(name)) return nccl_hook(name, look_up());
  if (!may_be_hooked(name)) return nullptr;
  if (hook_by_name(name) == nullptr && is_known_name(name)) return nullptr;
  return hook_for(name, look_up(), caller);
}

}  // namespace
}  // namespace tessera::preload

using namespace tessera::preload;

// The hook to return for dlsym(handle, name) called by `caller`, or null to call glibc's own function. Special handles
// are left to glibc: it finds our exported names by itself where appropriate.
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_answer(void* handle, const char* name,
                                                                              const void* caller) {
  return answer(handle, name, caller, [&] { return true_dlsym(handle, name); });
}

// The same for dlvsym(handle, name, version).
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_answer_version(void* handle, const char* name,
                                                                                      const char* version,
                                                                                      const void* caller) {
  return answer(handle, name, caller, [&] { return true_dlvsym(handle, name, version); });
}

TESSERA_HOOK cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result = call_true(&TrueDriver::cuGetProcAddress, symbol, function, version, flags);
  if (result == CUDA_SUCCESS) replace(symbol, function, version, flags, TESSERA_CALLER);
  return result;
}

TESSERA_HOOK cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult* status) {
  const CUresult result = call_true(&TrueDriver::cuGetProcAddress_v2, symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS) replace(symbol, function, version, flags, TESSERA_CALLER);
  return result;
}
