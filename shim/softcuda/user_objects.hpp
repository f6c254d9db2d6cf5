// User objects: objects of the program that live as long as any holder, the program or graphs, has references.
//
// An object ends with its last reference, and its destructor function is then called: for a running graph, when its
// work is over.
//
// Thread safety: UserObjects from any thread. A graph's own objects are guarded like the graph.
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

// The references of one holder, counted per object.
class HeldObjects {
 public:
  // The object held under this handle; null if it is not held.
  std::shared_ptr<UserObject> find(CUuserObject handle) const;
  void add(const std::shared_ptr<UserObject>& object, unsigned count);
  // Releases `count` references. If they were the last ones, `ended` receives the object, which the caller must drop
  // outside every lock, since that may call the program. False if there are fewer references.
  bool remove(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& ended);
  bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::shared_ptr<UserObject> object;
    unsigned count = 0;
  };
  std::map<CUuserObject, Held> held_;
};

// The references held by the program itself.
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
