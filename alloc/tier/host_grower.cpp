#include "tier/host_grower.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace tessera {

HostGrower::HostGrower(std::function<bool()> ahead) : ahead_(std::move(ahead)) {
  const Status started = start_thread(thread_, [this] { run(); });
  started_ = started.is_ok();
  if (!started_) {
    log_line(LogLevel::kWarning, "host memory is pinned on demand, not ahead of need: no background thread: {}",
             started.message());
  }
}

HostGrower::~HostGrower() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HostGrower::kick() {
  {
    const MutexLock lock(mutex_);
    kicked_ = true;
  }
  asked_.notify_all();
}

bool HostGrower::grow(const std::function<bool()>& piece) {
  if (!started_) return piece();
  Request request{piece};
  const MutexLock lock(mutex_);
  if (stopping_) return false;
  requests_.push_back(&request);
  asked_.notify_all();
  while (!request.over) answered_.wait(mutex_);
  return request.grown;
}

void HostGrower::finish_piece() {
  if (!started_) return;
  (void)grow([] { return false; });  // served when the thread has nothing in hand
}

std::size_t HostGrower::waiting() {
  const MutexLock lock(mutex_);
  return requests_.size();
}

// A thread waits for this, possibly holding locks of the engine.
void HostGrower::serve(Request& request) {
  mutex_.unlock();
  const bool grown = request.piece();
  mutex_.lock();
  request.grown = grown;
  request.over = true;
  answered_.notify_all();
}

void HostGrower::run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (!requests_.empty()) {
      Request& first = *requests_.front();
      requests_.pop_front();
      serve(first);
    } else if (kicked_) {
      kicked_ = false;
      mutex_.unlock();
      const bool more = ahead_();
      mutex_.lock();
      kicked_ = kicked_ || more;
    } else {
      asked_.wait(mutex_);
    }
  }
  for (Request* const request : requests_) request->over = true;
  requests_.clear();
  answered_.notify_all();
}

}  // namespace tessera
