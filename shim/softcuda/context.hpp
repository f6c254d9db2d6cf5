// Contexts, and which of them each thread works in: CUDA's stack per thread.
//
// Thread safety: every call may be made from any thread; the stack is thread-local.
//
// Invariants: a Context is never deallocated, so a stale handle is recognised and not followed
// (a context is a few dozen bytes, and programs make one or two).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

struct Context {
  DeviceId device;
  bool primary = false;
  bool green = false;
  std::uint64_t id = 0;
  std::atomic<unsigned> flags = 0;
  std::atomic<bool> alive = true;
  std::atomic<int> users = 0;          // retains minus releases; of one not primary, attached
  std::atomic<int> sticky = 0;         // the CUresult that ended this context's usefulness
  // Device memory that the driver takes for it.
  Mutex memory_mutex{LockRank::kRegistry};
  FrameId own_memory GUARDED_BY(memory_mutex) = {};
  FrameId local_memory GUARDED_BY(memory_mutex) = {};
};

inline CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

class Contexts {
 public:
  explicit Contexts(int devices);

  Context* create(DeviceId device, unsigned flags);
  // The one primary context of a device, alive or not.
  Context* primary(DeviceId device) { return primary_[device.value()]; }
  // The context whose memory and library variables it uses: the primary context for a green one.
  Context& memory_of(Context& context) { return context.green ? *primary(context.device) : context; }
  // Null for what is no context of ours.
  Context* find(CUcontext handle);

  // Whether what is allocated in `peer` may be used by kernels in `from`. To change it gives false when it
  // was so already.
  bool enable_peer(const Context* from, const Context* peer);
  bool is_peer(const Context* from, const Context* peer);
  bool disable_peer(const Context* from, const Context* peer);
  // It ends, and with it all access to and from it.
  void forget_peers(const Context* context);

 private:
  Mutex mutex_{LockRank::kApi};
  std::vector<Context*> primary_;  // constant
  std::unordered_set<Context*> all_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Context>> owned_ GUARDED_BY(mutex_);
  std::set<std::pair<const Context*, const Context*>> peers_ GUARDED_BY(mutex_);  // from, to
};

// The calling thread's stack. Its top is the current context, null when there is none.
Context* current_context();
bool push_context(Context* context);  // false when the stack is full
Context* pop_context();               // null when it is empty
bool set_context(Context* context);   // replaces the top; null takes it away

}  // namespace tessera::softcuda
