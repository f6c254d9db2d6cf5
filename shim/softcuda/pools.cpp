#include "pools.hpp"

#include <unistd.h>

namespace tessera::softcuda {

Pools::Pools(int devices) {
  for (int i = 0; i < devices; ++i) {
    const DeviceId device(static_cast<std::uint64_t>(i));
    const PoolPlace place = softcuda::place_of(device);
    pools_.emplace(default_pool(device), place);
    default_.emplace(place, default_pool(device));
  }
}

CUmemoryPool Pools::create(const PoolPlace& place, const PoolSharing& sharing, Bytes limit) {
  const MutexLock lock(mutex_);
  const auto pool = reinterpret_cast<CUmemoryPool>(next_++);
  pools_.emplace(pool, place);
  if (limit) limits_.emplace(pool, limit);
  if (sharing.exported || sharing.file >= 0) shared_.emplace(pool, sharing);
  return pool;
}

bool Pools::destroy(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto known = pools_.find(pool);
  if (known == pools_.end()) return false;
  const auto its_default = default_.find(known->second);
  if (its_default != default_.end() && its_default->second == pool) return false;
  std::erase_if(current_, [pool](const auto& each) { return each.second == pool; });
  std::erase_if(access_, [pool](const auto& each) { return each.first.first == pool; });
  std::erase_if(attributes_, [pool](const auto& each) { return each.first.first == pool; });
  limits_.erase(pool);
  if (const auto shared = shared_.find(pool); shared != shared_.end()) {
    if (shared->second.file >= 0) ::close(shared->second.file);
    shared_.erase(shared);
  }
  pools_.erase(known);
  return true;
}

Bytes Pools::limit(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto known = limits_.find(pool);
  return known != limits_.end() ? known->second : Bytes();
}

PoolSharing Pools::sharing(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto known = shared_.find(pool);
  return known != shared_.end() ? known->second : PoolSharing{};
}

std::optional<PoolPlace> Pools::place_of(CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  const auto known = pools_.find(pool);
  return known != pools_.end() ? std::optional(known->second) : std::nullopt;
}

CUmemoryPool Pools::default_of(const PoolPlace& place) {
  {
    const MutexLock lock(mutex_);
    if (const auto known = default_.find(place); known != default_.end()) return known->second;
  }
  const CUmemoryPool made = create(place);
  const MutexLock lock(mutex_);
  return default_.emplace(place, made).first->second;
}

CUmemoryPool Pools::current(const PoolPlace& place) {
  {
    const MutexLock lock(mutex_);
    if (const auto set = current_.find(place); set != current_.end()) return set->second;
  }
  return default_of(place);
}

void Pools::set_current(const PoolPlace& place, CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  current_[place] = pool;
}

std::optional<std::uint64_t> Pools::attribute(CUmemoryPool pool, CUmemPool_attribute attribute) {
  const MutexLock lock(mutex_);
  const auto set = attributes_.find({pool, attribute});
  return set != attributes_.end() ? std::optional(set->second) : std::nullopt;
}

void Pools::set_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, std::uint64_t value) {
  const MutexLock lock(mutex_);
  attributes_[{pool, attribute}] = value;
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
