#include "block/thread_caches.hpp"

#include <pthread.h>

#include <atomic>
#include <unordered_map>

namespace tessera {
namespace {

// A thread's memory of its caches. Plain data, so that it can be read without a check for construction, and
// while the thread's destructors run.
struct Remembered {
  std::uint64_t id = 0;
  ThreadCache* cache = nullptr;
};
constexpr std::size_t kRemembered = 8;
constinit thread_local Remembered remembered[kRemembered];
constinit thread_local bool ending = false;

struct AtThreadEnd {
  ~AtThreadEnd() {
    ending = true;
    for (Remembered& entry : remembered) {
      if (entry.cache) ThreadCaches::return_cache(entry.id, entry.cache);
      entry = {};
    }
  }
};

struct Registry {
  Mutex mutex{LockRank::kRegistry};
  std::unordered_map<std::uint64_t, ThreadCaches*> alive GUARDED_BY(mutex);
};

// A child of fork has one thread, and locks that other threads of the parent may have held: it returns nothing
// when it ends.
void forget_in_child() {
  for (Remembered& entry : remembered) entry = {};
}

Registry* make_registry() {
  // Fails only without memory; a child may then wait on such a lock.
  [[maybe_unused]] const int refused = ::pthread_atfork(nullptr, nullptr, forget_in_child);
  return new Registry;
}

// Never destroyed: threads may end after the program's static objects have.
Registry& registry() {
  static Registry* const one = make_registry();
  return *one;
}

std::uint64_t new_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

ThreadCaches::ThreadCaches(std::function<void(ThreadCache&)> empty) : empty_(std::move(empty)), id_(new_id()) {
  Registry& known = registry();
  MutexLock lock(known.mutex);
  known.alive.emplace(id_, this);
}

void ThreadCaches::close() {
  Registry& known = registry();
  MutexLock lock(known.mutex);
  known.alive.erase(id_);
}

ThreadCache* ThreadCaches::mine() {
  const Remembered& entry = remembered[id_ % kRemembered];
  return entry.id == id_ ? entry.cache : attach();
}

ThreadCache* ThreadCaches::attach() {
  if (ending) return nullptr;
  static thread_local AtThreadEnd at_thread_end;
  (void)at_thread_end;
  Remembered& entry = remembered[id_ % kRemembered];
  if (entry.cache) return_cache(entry.id, entry.cache);
  MutexLock lock(mutex_);
  if (idle_.empty()) {
    caches_.push_back(std::make_unique<ThreadCache>());
    idle_.push_back(caches_.back().get());
  }
  entry = {id_, idle_.back()};
  idle_.pop_back();
  return entry.cache;
}

// Holding the registry's lock keeps the allocator alive meanwhile.
void ThreadCaches::return_cache(std::uint64_t id, ThreadCache* cache) {
  Registry& known = registry();
  MutexLock lock(known.mutex);
  const auto found = known.alive.find(id);
  if (found != known.alive.end()) found->second->take_back(cache);
}

void ThreadCaches::take_back(ThreadCache* cache) {
  empty_(*cache);
  MutexLock lock(mutex_);
  idle_.push_back(cache);
}

void ThreadCaches::steal_all(const std::function<void(Address)>& give) {
  MutexLock lock(mutex_);
  for (const auto& cache : caches_) cache->steal(give);
}

void ThreadCaches::for_each(const std::function<void(const ThreadCache&)>& see) const {
  MutexLock lock(mutex_);
  for (const auto& cache : caches_) see(*cache);
}

}  // namespace tessera
