// Memory pools: the default one of each device, those that a program makes, and which is current.
//
// They differ in their handles alone: each takes from the device's memory and keeps nothing back.
//
// Thread safety: Pools from any thread.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

// Handles are never followed: these are marked so that no other equals them.
inline CUmemoryPool default_pool(DeviceId device) {
  return reinterpret_cast<CUmemoryPool>(0x506f6f6c0000 + device.value());
}

class Pools {
 public:
  CUmemoryPool create(DeviceId device);
  // False for one that was not created. Where it was current the default one is again.
  bool destroy(CUmemoryPool pool);
  // Of one that was created; nothing for others.
  std::optional<DeviceId> device_of(CUmemoryPool pool);
  CUmemoryPool current(DeviceId device);
  void set_current(DeviceId device, CUmemoryPool pool);
  // What kernels of another device than the pool's may do with its memory: nothing, at first.
  CUmemAccess_flags access(CUmemoryPool pool, DeviceId device);
  void set_access(CUmemoryPool pool, DeviceId device, CUmemAccess_flags access);

 private:
  Mutex mutex_{LockRank::kRegistry};
  std::uint64_t next_ GUARDED_BY(mutex_) = 0x506f6f6d0000;
  std::map<CUmemoryPool, DeviceId> created_ GUARDED_BY(mutex_);
  std::map<DeviceId, CUmemoryPool> current_ GUARDED_BY(mutex_);  // those that are not the default
  std::map<std::pair<CUmemoryPool, DeviceId>, CUmemAccess_flags> access_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
