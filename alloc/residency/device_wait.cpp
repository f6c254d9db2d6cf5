#include "residency/device_wait.hpp"

#include <chrono>

#include "base/thread.hpp"

namespace tessera {

DeviceWait::~DeviceWait() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

std::uint64_t DeviceWait::ask() {
  std::uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = ++asked_;
    if (!thread_.joinable() && !(beside_ && start_thread(thread_, [this] { run(); }).is_ok())) {
      result_ = driver_.synchronize(device_);
      over_ = number;
    }
  }
  changed_.notify_all();
  return number;
}

// One call of the driver serves all requests made before it.
void DeviceWait::run() {
  for (std::uint64_t number = 0;;) {
    {
      MutexLock lock(mutex_);
      while (over_ == asked_ && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
      number = asked_;
    }
    const Status waited = driver_.synchronize(device_);
    {
      MutexLock lock(mutex_);
      over_ = number;
      result_ = waited;
    }
    changed_.notify_all();
  }
}

Status DeviceWait::outcome(std::uint64_t number) const {
  return over_ >= number ? result_ : Status(Code::kNotReady, "work of the device has not ended");
}

Status DeviceWait::query(std::uint64_t number) const {
  MutexLock lock(mutex_);
  return outcome(number);
}

Status DeviceWait::await(std::uint64_t number, Nanoseconds limit) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.value());
  MutexLock lock(mutex_);
  for (auto now = std::chrono::steady_clock::now(); over_ < number && now < until; now = std::chrono::steady_clock::now()) {
    changed_.wait_for(mutex_, std::chrono::ceil<std::chrono::microseconds>(until - now));
  }
  return outcome(number);
}

}  // namespace tessera
