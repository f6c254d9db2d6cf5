// The one allocator of a process that its front ends share: preload library, PyTorch, Python.
#include <dlfcn.h>

#include <atomic>

#include "api/call.hpp"
#include "api/handles.hpp"
#include "api/profile_api.hpp"
#include "base/mutex.hpp"
#include "tessera/interpose.h"

namespace tessera {
namespace {

constinit std::atomic<tessera_allocator*> shared{nullptr};
Mutex start_mutex{LockRank::kShared};

using Attend = tessera_result (*)(void);

// The preload library's function, where the process has it: it starts there if possible, and takes note of the
// addresses managed by now.
Attend preload_attend() {
  static const auto found = reinterpret_cast<Attend>(::dlsym(RTLD_DEFAULT, "tessera_preload_attend"));
  return found;
}

// No known caller announces its work, so blocks must not be evicted automatically.
Status make_own() {
  tessera_allocator* made = nullptr;
  if (const tessera_result result = tessera_allocator_create(nullptr, &made); result != TESSERA_OK) {
    return Status(static_cast<Code>(result), last_error_text());
  }
  begin_awaited_profile(*made);
  if (Status status = made->allocator->heaps().set_automatic(false); !status.is_ok()) {
    tessera_allocator_destroy(made);
    return status;
  }
  shared.store(made, std::memory_order_release);
  return {};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_shared(tessera_allocator** allocator) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (const Attend attend = preload_attend(); attend != nullptr && attend() == TESSERA_NOT_READY) {
      return Status(Code::kNotReady, "the preload library starts when a CUDA context is current");
    }
    if (shared.load(std::memory_order_acquire) == nullptr) {
      const MutexLock lock(start_mutex);
      if (shared.load() == nullptr) TESSERA_TRY(make_own());
    }
    *allocator = shared.load(std::memory_order_acquire);
    return *allocator != nullptr ? Status() : Status(Code::kNotReady, "the allocator is being destroyed");
  });
}

int tessera_shared_exists(void) { return shared.load(std::memory_order_acquire) != nullptr ? 1 : 0; }

void tessera_share(tessera_allocator* allocator) {
  if (allocator != nullptr) begin_awaited_profile(*allocator);
  shared.store(allocator, std::memory_order_release);
}

tessera_result tessera_set_automatic(tessera_allocator* allocator, int on) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->heaps().set_automatic(on != 0);
  });
}

}  // extern "C"
