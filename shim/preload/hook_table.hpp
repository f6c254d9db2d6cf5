// Which of our functions stands for which entry point of the driver: hooks.inc as a table.
//
// Thread safety: constant.
#pragma once

#include <string_view>

#include "cuda_api.hpp"

namespace tessera::preload {

// What "no stream" means to a call; kNone where it does not matter.
enum class DefaultStream { kNone, kLegacy, kPerThread };

struct Hook {
  const char* name;  // in the binary interface
  const char* base;  // for cuGetProcAddress
  int since;         // CUDA version, 1000 * major + 10 * minor
  DefaultStream streams;
  void* function;    // ours
};

// Null when that name is not hooked.
const Hook* hook_by_name(const char* name);

// The number of the newest form in which hooks have a name: 2 where that is cuMemAlloc_v2; 0 if they have none.
int newest_form_of_hook(std::string_view base);

// The hook for what cuGetProcAddress gives a program that asks for `base` as of CUDA `version`:
// the newest one that is not younger. Null when that is not hooked.
const Hook* hook_by_version(const char* base, int version, bool per_thread);

}  // namespace tessera::preload
