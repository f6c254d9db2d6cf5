// A mutex with a rank and clang's thread-safety attributes, with its scoped lock and condition variable.
//
// Locks are taken in ascending rank order, so no cycle can form; debug builds check it on every lock (after
// jemalloc's witness.h). Ranks follow the layers: calls go down, so a higher layer's lock is taken first and
// has the lower rank.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/check.hpp"

#if defined(__clang__)
#define TESSERA_TSA(x) __attribute__((x))
#else
#define TESSERA_TSA(x)
#endif
#define CAPABILITY(x) TESSERA_TSA(capability(x))
#define SCOPED_CAPABILITY TESSERA_TSA(scoped_lockable)
#define GUARDED_BY(x) TESSERA_TSA(guarded_by(x))
#define REQUIRES_LOCK(...) TESSERA_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES_LOCK(...) TESSERA_TSA(locks_excluded(__VA_ARGS__))
#define ACQUIRES(...) TESSERA_TSA(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRES(...) TESSERA_TSA(try_acquire_capability(__VA_ARGS__))
#define RELEASES(...) TESSERA_TSA(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS TESSERA_TSA(no_thread_safety_analysis)

namespace tessera {

// Ascending: a thread that holds a lock may only take locks of a greater rank.
enum class LockRank : int {
  kShared = 8,
  kApi = 10,
  kGiveBack = 12,
  kRegistry = 14,
  kThreadCaches = 16,
  kBlock = 20,
  kPage = 30,
  kResidency = 40,
  kGate = 45,
  kExtents = 47,
  kStreams = 50,
  kHostBlocks = 55,
  kHostGrower = 56,
  kHostLending = 57,
  kHostGrowth = 58,
  kTier = 60,
  kFileIo = 61,
  kAliases = 62,
  kLenders = 63,
  kNodeBudget = 64,
  kNode = 65,
  kDriver = 70,
  kSimulator = 80,
  kSimulation = 85,
  kOutputs = 88,
  kObserve = 90,
};

namespace detail {
// For the check of the order, in debug builds.
void note_lock(LockRank rank);
void note_unlock(LockRank rank);
}  // namespace detail

class CAPABILITY("mutex") Mutex {
 public:
  explicit Mutex(LockRank rank) : rank_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ACQUIRES() {
    if (kTesseraChecked) detail::note_lock(rank_);
    mutex_.lock();
  }
  // Returns false if the mutex is held.
  bool try_lock() TRY_ACQUIRES(true) {
    if (!mutex_.try_lock()) return false;
    if (kTesseraChecked) detail::note_lock(rank_);
    return true;
  }
  void unlock() RELEASES() {
    mutex_.unlock();
    if (kTesseraChecked) detail::note_unlock(rank_);
  }

 private:
  std::mutex mutex_;
  const LockRank rank_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASES() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable over Mutex. Wakeups may be spurious: wait in a loop over the condition.
class Condition {
 public:
  void wait(Mutex& mutex) REQUIRES_LOCK(mutex) NO_THREAD_SAFETY_ANALYSIS { variable_.wait(mutex); }
  // Returns false on timeout.
  bool wait_for(Mutex& mutex, std::chrono::nanoseconds time) REQUIRES_LOCK(mutex) NO_THREAD_SAFETY_ANALYSIS {
    return variable_.wait_for(mutex, time) == std::cv_status::no_timeout;
  }
  void notify_one() { variable_.notify_one(); }
  void notify_all() { variable_.notify_all(); }

 private:
  std::condition_variable_any variable_;
};

}  // namespace tessera
