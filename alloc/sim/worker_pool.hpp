// A small worker pool that runs tasks in the order in which they are handed over.
//
// There is no queue: hand() blocks until the previous task has been picked up. So tasks that are expensive to
// create are created when needed, one ahead.
//
// Thread safety: all functions from one thread. Tasks run concurrently on worker threads; with a count of one,
// or if no thread can be started, on the caller's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace tessera {

class WorkerPool {
 public:
  // REQUIRES: count > 0.
  explicit WorkerPool(std::size_t count);
  // Waits until all tasks are done.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void hand(std::function<void()> part);

 private:
  void run();

  Mutex mutex_{LockRank::kSimulation};
  Condition changed_;
  std::optional<std::function<void()>> next_ GUARDED_BY(mutex_);  // not picked up yet
  bool ending_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
