// User objects: something of the program's that lives as long as whoever holds it, the program or
// graphs.
//
// An object ends with its last holder, and its function is called then: for a graph that runs, when
// its work is over.
//
// Thread safety: UserObjects from any thread. A graph's own are guarded as the graph is.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

class UserObject {
 public:
  UserObject(void* data, CUhostFn end) : data_(data), end_(end) {}
  ~UserObject() { end_(data_); }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

 private:
  void* const data_;
  const CUhostFn end_;
};

inline CUuserObject handle_of(const UserObject* object) {
  return reinterpret_cast<CUuserObject>(const_cast<UserObject*>(object));
}

// What one holder has of each object: as many references as it was given.
class HeldObjects {
 public:
  // What is held with this handle; null for what is not.
  std::shared_ptr<UserObject> find(CUuserObject handle) const;
  void add(const std::shared_ptr<UserObject>& object, unsigned count);
  // Gives `count` of them up; `ended` gets the object when they were the last, and is for the
  // caller to drop outside of every lock: that may call the program. False when it has fewer.
  bool remove(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& ended);
  bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::shared_ptr<UserObject> object;
    unsigned count = 0;
  };
  std::map<CUuserObject, Held> held_;
};

// What the program itself holds.
class UserObjects {
 public:
  std::shared_ptr<UserObject> find(CUuserObject handle) {
    const MutexLock lock(mutex_);
    return held_.find(handle);
  }
  void add(const std::shared_ptr<UserObject>& object, unsigned count) {
    const MutexLock lock(mutex_);
    held_.add(object, count);
  }
  bool remove(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& ended) {
    const MutexLock lock(mutex_);
    return held_.remove(handle, count, ended);
  }

 private:
  Mutex mutex_{LockRank::kRegistry};
  HeldObjects held_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
