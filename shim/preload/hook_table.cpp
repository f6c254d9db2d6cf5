#include "hook_table.hpp"

#include <algorithm>

#include "bare_text.hpp"
#include "newer_calls.hpp"

namespace tessera::preload {
namespace {

using enum DefaultStream;

#define HOOK(name, base, since, streams) {#name, base, since, streams, reinterpret_cast<void*>(&::name)},
const Hook kHooks[] = {
#include "hooks.inc"
};
#undef HOOK

// Null if no hook of that kind is old enough.
const Hook* newest_hook(const char* base, int version, bool per_thread) {
  const Hook* newest = nullptr;
  for (const Hook& hook : kHooks) {
    if (!same_text(hook.base, base) || hook.since > version) continue;
    const bool same_stream = hook.streams == kNone || per_thread == (hook.streams == kPerThread);
    if (same_stream && (newest == nullptr || hook.since > newest->since)) newest = &hook;
  }
  return newest;
}

}  // namespace

const Hook* hook_by_name(const char* name) {
  for (const Hook& hook : kHooks) {
    if (same_text(hook.name, name)) return &hook;
  }
  return nullptr;
}

int newest_form_of_hook(std::string_view base) {
  int newest = 0;
  for (const Hook& hook : kHooks) newest = std::max(newest, form_number(hook.name, base));
  return newest;
}

const Hook* hook_by_version(const char* base, int version, bool per_thread) {
  // Since CUDA 12, cuda.h uses this name for another function.
  if (version >= 12000 && same_text(base, "cuGraphInstantiate")) {
    base = "cuGraphInstantiateWithFlags";
  }
  const Hook* const hook = per_thread ? newest_hook(base, version, true) : nullptr;
  // For a version older than the per-thread variant, the driver returns the legacy function.
  return hook != nullptr ? hook : newest_hook(base, version, false);
}

}  // namespace tessera::preload
