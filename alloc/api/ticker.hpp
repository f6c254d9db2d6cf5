// A thread that calls a function about four times a second, until it is destroyed: for what may wait for a disk.
//
// Thread safety: constructed and destroyed by its owner; the function runs on the ticker's own thread.
#pragma once

#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace tessera {

class Ticker {
 public:
  // Where no thread can be started this is logged, as `without`, what is then missing; `call` is never called.
  Ticker(const char* without, std::function<void()> call);
  // Stops between two calls.
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run();

  const std::function<void()> call_;
  Mutex mutex_{LockRank::kApi};
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
