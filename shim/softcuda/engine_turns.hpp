// Whose turn it is to use an engine of a device that several processes share.
//
// One process at a time has an engine, as without MPS. It keeps it while it has work, for a slice of time if others
// wait; then the next that waits has it, in a fixed order. Work is interrupted only between the blocks of a kernel. A
// block that takes longer than a slice and the patience runs on beside the next process, which is how a kernel that
// waits for another process goes on.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/mutex.hpp"

namespace tessera::softcuda {

// A mutex in memory of several processes, which a process that is killed releases.
class SharedMutex {
 public:
  void init();
  void lock();
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

// In memory of several processes; all zero at the start.
struct EngineState {
  std::atomic<std::uint32_t> bell;     // changed at each change of the owner, to wake waiters
  std::atomic<std::uint32_t> owner;    // its row + 1; 0: none
  std::atomic<std::uint64_t> since;    // when it became the owner, in nanoseconds of the machine's monotonic clock
  std::atomic<std::uint64_t> waiting;  // a bit for each row
};

class EngineTurns {
 public:
  static constexpr std::chrono::nanoseconds kSlice{2'000'000};

  // What all engines of a process have in common.
  struct Process {
    SharedMutex& mutex;                          // of all states
    unsigned row;                                // below 64
    std::function<bool(unsigned row)> is_alive;  // called with the mutex held
  };
  // REQUIRES: `process` and `state` outlive it.
  EngineTurns(const Process& process, EngineState& state, std::chrono::nanoseconds patience)
      : process_(process), state_(state), patience_(patience) {}

  // See SimHardware.
  void enter();
  void leave(bool more);
  void pause();

 private:
  bool is_owner() const { return state_.owner.load() == process_.row + 1; }
  bool is_due() const;
  void hand_over();
  void wait_for_turn();

  const Process& process_;
  EngineState& state_;
  const std::chrono::nanoseconds patience_;
  Mutex mutex_{LockRank::kSimulation};
  Condition changed_;
  std::size_t inside_ GUARDED_BY(mutex_) = 0;  // pieces of work of this process
  bool waits_ GUARDED_BY(mutex_) = false;      // one thread waits for the turn, for all
};

}  // namespace tessera::softcuda
