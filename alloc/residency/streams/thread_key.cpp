#include "residency/streams/thread_key.hpp"

#include <unordered_set>
#include <utility>

#include "base/mutex.hpp"

namespace tessera {
namespace {

// The threads that have a key. Never destroyed: a thread may end after static destruction.
struct Living {
  Mutex mutex{LockRank::kObserve};
  std::unordered_set<std::uint64_t> keys GUARDED_BY(mutex);
  std::uint64_t next GUARDED_BY(mutex) = 1;
};
Living& living() {
  static Living& all = *new Living;
  return all;
}

constinit thread_local std::uint64_t own_key = 0;

// Uses by the thread after this get another key, which is never reported as ended.
struct EndsKey {
  ~EndsKey() {
    Living& all = living();
    MutexLock lock(all.mutex);
    all.keys.erase(std::exchange(own_key, 0));
  }
};

std::uint64_t take_thread_key() {
  static thread_local EndsKey at_thread_end;
  (void)at_thread_end;
  Living& all = living();
  MutexLock lock(all.mutex);
  own_key = all.next++;
  all.keys.insert(own_key);
  return own_key;
}

}  // namespace

std::uint64_t this_thread_key() { return own_key != 0 ? own_key : take_thread_key(); }

bool thread_has_ended(std::uint64_t key) {
  if (key == 0) return false;
  Living& all = living();
  MutexLock lock(all.mutex);
  return !all.keys.contains(key);
}

}  // namespace tessera
