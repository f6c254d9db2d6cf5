#include "context.hpp"

namespace tessera::softcuda {
namespace {

// Plain data: it has to remain usable while other thread-local objects are destroyed at thread exit.
struct Stack {
  Context* entries[64];
  int depth;
};
thread_local Stack stack = {};

}  // namespace

Contexts::Contexts(int devices) {
  for (int device = 0; device < devices; ++device) {
    Context* context = create(DeviceId(static_cast<std::uint64_t>(device)), 0);
    context->primary = true;
    context->alive = false;
    primary_.push_back(context);
  }
}

Context* Contexts::create(DeviceId device, unsigned flags) {
  auto context = std::make_unique<Context>();
  Context* const made = context.get();
  made->device = device;
  made->flags = flags;
  const MutexLock lock(mutex_);
  made->id = owned_.size() + 1;
  all_.insert(made);
  owned_.push_back(std::move(context));
  return made;
}

Context* Contexts::find(CUcontext handle) {
  auto* const context = reinterpret_cast<Context*>(handle);
  const MutexLock lock(mutex_);
  return all_.contains(context) ? context : nullptr;
}

bool Contexts::enable_peer(const Context* from, const Context* peer) {
  const MutexLock lock(mutex_);
  return peers_.emplace(from, peer).second;
}

bool Contexts::is_peer(const Context* from, const Context* peer) {
  const MutexLock lock(mutex_);
  return peers_.contains({from, peer});
}

bool Contexts::disable_peer(const Context* from, const Context* peer) {
  const MutexLock lock(mutex_);
  return peers_.erase({from, peer}) != 0;
}

void Contexts::forget_peers(const Context* context) {
  const MutexLock lock(mutex_);
  std::erase_if(peers_, [context](const auto& pair) { return pair.first == context || pair.second == context; });
}

Context* current_context() { return stack.depth == 0 ? nullptr : stack.entries[stack.depth - 1]; }

bool push_context(Context* context) {
  if (stack.depth == 64) return false;
  stack.entries[stack.depth++] = context;
  return true;
}

Context* pop_context() { return stack.depth == 0 ? nullptr : stack.entries[--stack.depth]; }

bool set_context(Context* context) {
  if (stack.depth > 0) --stack.depth;
  return context == nullptr || push_context(context);
}

}  // namespace tessera::softcuda
