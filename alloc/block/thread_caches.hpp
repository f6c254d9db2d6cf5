// The thread caches of one allocator: one per thread that uses it, found without a lock.
//
// Threads and allocators end in any order. A thread remembers its caches by the allocator's number, which is
// never reused, so a remembered entry of a dead allocator is never touched. A thread that ends returns its
// caches to those allocators that a registry lists as alive. A child of fork remembers none.
//
// Thread safety: all functions may be called from any thread; the destructor requires that no other call is in
// progress except the end of a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "block/thread_cache.hpp"

namespace tessera {

class ThreadCaches {
 public:
  // `empty` takes everything out of the cache of a thread that ends or that remembers too many allocators. It
  // is called on the cache's own thread.
  explicit ThreadCaches(std::function<void(ThreadCache&)> empty);
  ~ThreadCaches() { close(); }
  ThreadCaches(const ThreadCaches&) = delete;
  ThreadCaches& operator=(const ThreadCaches&) = delete;

  // Threads that end from now on do not return their caches.
  void close();

  // The calling thread's cache; null while the thread is ending.
  ThreadCache* mine();
  // Takes out the blocks of all threads.
  void steal_all(const std::function<void(Address)>& give);
  // Visits every cache ever created, in use or idle.
  void for_each(const std::function<void(const ThreadCache&)>& see) const;

  // At the end of a thread: returns the cache to the allocator with this number, if it is alive.
  static void return_cache(std::uint64_t id, ThreadCache* cache);

 private:
  ThreadCache* attach();
  void take_back(ThreadCache* cache);

  const std::function<void(ThreadCache&)> empty_;
  const std::uint64_t id_;
  mutable Mutex mutex_{LockRank::kThreadCaches};
  std::vector<std::unique_ptr<ThreadCache>> caches_ GUARDED_BY(mutex_);
  std::vector<ThreadCache*> idle_ GUARDED_BY(mutex_);
};

}  // namespace tessera
