// A thread that backs and pins host memory, so that no call of the program has to.
//
// Why a thread: pinning takes about 0.1 s per GB, during which a driver holds locks that every process on the machine
// may need (docs/realism.md). So memory is pinned piece by piece, ahead of need, and a thread that finds none waits for
// one piece at most. Where no thread can be started, the thread that needs memory pins it, and one log line reports
// that.
//
// Thread safety: every call may be made from any thread. No lock is held while memory is pinned.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace tessera {

class HostGrower {
 public:
  // `ahead` backs one more piece if that is due, and returns whether it did. Called on the thread after each kick()
  // until nothing is due, but only after all threads in grow() have been served.
  explicit HostGrower(std::function<bool()> ahead);
  // Ends between two pieces. Waiting threads get false.
  ~HostGrower();
  HostGrower(const HostGrower&) = delete;
  HostGrower& operator=(const HostGrower&) = delete;

  // Something may be due.
  void kick();
  // Has the thread call `piece`, which pins what is needed now, and returns its result; false if the object is
  // destroyed first.
  bool grow(const std::function<bool()>& piece);
  // Waits until the piece that is being pinned at the moment, if any, is pinned.
  void finish_piece();
  // Threads in grow() that have not been served yet.
  std::size_t waiting();

 private:
  struct Request {
    const std::function<bool()>& piece;
    bool grown = false;
    bool over = false;
  };

  void run();
  void serve(Request& request) REQUIRES_LOCK(mutex_);

  const std::function<bool()> ahead_;
  bool started_ = false;  // set by the constructor alone
  Mutex mutex_{LockRank::kHostGrower};
  Condition asked_;
  Condition answered_;
  std::deque<Request*> requests_ GUARDED_BY(mutex_);  // one for each waiting thread
  bool kicked_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
