// The thread caches of one allocator: one for each thread that uses it, found without a lock.
//
// Threads and allocators end in any order. A thread remembers its caches by the allocator's number,
// which is never used twice, so what it remembers of a dead allocator is never touched; a thread
// that ends hands its caches back to those allocators that a registry says are alive. A child of fork
// remembers none.
//
// Thread safety: every call may be made from any thread; the destructor when no other call is
// under way but the end of a thread.
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
  // `empty` takes everything out of the cache of a thread that ends, or remembers too many allocators. The
  // calling thread is the cache's own.
  explicit ThreadCaches(std::function<void(ThreadCache&)> empty);
  ~ThreadCaches() { close(); }
  ThreadCaches(const ThreadCaches&) = delete;
  ThreadCaches& operator=(const ThreadCaches&) = delete;

  // Threads that end from now on leave the caches alone.
  void close();

  // The calling thread's cache; null while the thread is ending.
  ThreadCache* mine();
  // Takes the blocks of all threads out.
  void steal_all(const std::function<void(Address)>& give);
  // Every cache there ever was, in use or idle.
  void for_each(const std::function<void(const ThreadCache&)>& see) const;

  // For the end of a thread: the allocator with this number, if it lives, takes the cache back.
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
