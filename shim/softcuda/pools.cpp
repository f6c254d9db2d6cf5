#include "pools.hpp"

namespace tessera::softcuda {

CUmemoryPool Pools::create(DeviceId device) {
  const MutexLock lock(mutex_);
  const auto pool = reinterpret_cast<CUmemoryPool>(next_++);
  created_.emplace(pool, device);
  return pool;
}

bool Pools::destroy(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  std::erase_if(current_, [pool](const auto& each) { return each.second == pool; });
  std::erase_if(access_, [pool](const auto& each) { return each.first.first == pool; });
  return created_.erase(pool) != 0;
}

std::optional<DeviceId> Pools::device_of(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto known = created_.find(pool);
  return known != created_.end() ? std::optional(known->second) : std::nullopt;
}

CUmemoryPool Pools::current(DeviceId device) {
  const MutexLock lock(mutex_);
  const auto set = current_.find(device);
  return set != current_.end() ? set->second : default_pool(device);
}

void Pools::set_current(DeviceId device, CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  current_[device] = pool;
}

CUmemAccess_flags Pools::access(CUmemoryPool pool, DeviceId device) {
  const MutexLock lock(mutex_);
  const auto set = access_.find({pool, device});
  return set != access_.end() ? set->second : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

void Pools::set_access(CUmemoryPool pool, DeviceId device, CUmemAccess_flags access) {
  const MutexLock lock(mutex_);
  access_[{pool, device}] = access;
}

}  // namespace tessera::softcuda
