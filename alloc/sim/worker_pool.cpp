#include "sim/worker_pool.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace tessera {

WorkerPool::WorkerPool(std::size_t count) {
  while (count > 1 && threads_.size() < count) {
    std::thread worker;
    if (const Status started = start_thread(worker, [this] { run(); }); !started.is_ok()) {
      log_line(LogLevel::kDebug, "only {} of {} simulation threads started: {}", threads_.size(), count,
               started.message());
      return;
    }
    threads_.push_back(std::move(worker));
  }
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : threads_) worker.join();
}

void WorkerPool::hand(std::function<void()> part) {
  if (threads_.empty()) return part();
  {
    MutexLock lock(mutex_);
    while (next_) changed_.wait(mutex_);
    next_ = std::move(part);
  }
  changed_.notify_all();
}

void WorkerPool::run() {
  for (;;) {
    std::optional<std::function<void()>> part;
    {
      MutexLock lock(mutex_);
      while (!next_ && !ending_) changed_.wait(mutex_);
      if (!next_) return;
      part = std::exchange(next_, std::nullopt);
    }
    changed_.notify_all();
    (*part)();
  }
}

}  // namespace tessera
