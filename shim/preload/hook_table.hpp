// Maps the driver's entry points to our hooks: hooks.inc as a table.
//
// Thread safety: constant.
#pragma once

#include <string_view>

#include "cuda_api.hpp"

namespace tessera::preload {

// What a null stream means to a call; kNone where it does not matter.
enum class DefaultStream { kNone, kLegacy, kPerThread };

struct Hook {
  const char* name;  // in the ABI
  const char* base;  // for cuGetProcAddress
  int since;         // CUDA version, 1000 * major + 10 * minor
  DefaultStream streams;
  void* function;  // ours
};

// Null if the name is not hooked.
const Hook* hook_by_name(const char* name);

// The highest version suffix among the hooks of this base name: 2 for cuMemAlloc_v2; 0 if there is no hook.
int newest_form_of_hook(std::string_view base);

// The hook that corresponds to cuGetProcAddress for `base` at CUDA `version`: the newest hook that is not newer than
// `version`. Null if that entry point is not hooked.
const Hook* hook_by_version(const char* base, int version, bool per_thread);

}  // namespace tessera::preload
