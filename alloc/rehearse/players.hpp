// A few threads that carry out one thing after another, in the order in which it is handed over.
//
// Nothing is queued: who hands over waits until the one before has been taken up, so that what
// takes long to make is made when it is needed, and one ahead.
//
// Thread safety: all calls by one thread. What is handed over runs on others, several beside each
// other; where there is one player, or no thread to be had, on the caller's own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace tessera {

class Players {
 public:
  // REQUIRES: count > 0.
  explicit Players(std::size_t count);
  // Waits until all that was handed over is done.
  ~Players();
  Players(const Players&) = delete;
  Players& operator=(const Players&) = delete;

  void hand(std::function<void()> part);

 private:
  void run();

  Mutex mutex_{LockRank::kRehearsal};
  Condition changed_;
  std::optional<std::function<void()>> next_ GUARDED_BY(mutex_);  // not taken up
  bool ending_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
