// Contexts, and each thread's context stack.
//
// Thread safety: every call may be made from any thread; the stack is thread-local.
//
// Invariants: a Context is never deallocated, so a stale handle is recognised and never dereferenced (a context is a
// few dozen bytes, and programs make one or two).
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

// A green context's share of its device.
struct GreenShare {
  unsigned multiprocessors = 0;
  unsigned alignment = 0;
  unsigned queue_limit = 0;  // 0: the default number
  int queue_scope = 0;
};

struct Context {
  DeviceId device;
  bool primary = false;
  bool green = false;
  GreenShare share = {};  // of a green context
  std::uint64_t id = 0;
  std::atomic<unsigned> flags = 0;
  std::atomic<bool> alive = true;
  std::atomic<int> users = 0;   // retains minus releases; for non-primary contexts, attaches
  std::atomic<int> sticky = 0;  // the CUresult that made this context unusable
  // Device memory that the driver allocates for the context.
  Mutex memory_mutex{LockRank::kRegistry};
  FrameId own_memory GUARDED_BY(memory_mutex) = {};
  FrameId local_memory GUARDED_BY(memory_mutex) = {};
};

inline CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

class Contexts {
 public:
  explicit Contexts(int devices);

  Context* create(DeviceId device, unsigned flags);
  // The device's primary context, alive or not.
  Context* primary(DeviceId device) { return primary_[device.value()]; }
  // The context that owns its memory and library variables: the primary context for a green one.
  Context& memory_of(Context& context) { return context.green ? *primary(context.device) : context; }
  // Null if the handle is not a context of ours.
  Context* find(CUcontext handle);

  // Whether kernels in `from` may use allocations of `peer`. The calls that change it return false if nothing changed.
  bool enable_peer(const Context* from, const Context* peer);
  bool is_peer(const Context* from, const Context* peer);
  bool disable_peer(const Context* from, const Context* peer);
  // The context ends, and with it all access to and from it.
  void forget_peers(const Context* context);

 private:
  Mutex mutex_{LockRank::kApi};
  std::vector<Context*> primary_;  // constant
  std::unordered_set<Context*> all_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Context>> owned_ GUARDED_BY(mutex_);
  std::set<std::pair<const Context*, const Context*>> peers_ GUARDED_BY(mutex_);  // from, to
};

// The calling thread's stack. Its top is the current context; null if the stack is empty.
Context* current_context();
bool push_context(Context* context);  // false if the stack is full
Context* pop_context();               // null if it is empty
bool set_context(Context* context);   // replaces the top; null pops it

}  // namespace tessera::softcuda
