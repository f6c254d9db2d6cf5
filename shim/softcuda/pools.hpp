// Memory pools: the default pools of each device, of host memory and of managed memory; pools created by the program;
// and the current pool of each kind.
//
// Pools retain nothing: each call allocates directly from device or host memory. The amounts of a pool are those of its
// ranges (ranges.hpp).
//
// Thread safety: Pools from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

// Handles are never dereferenced; this prefix distinguishes them from all others.
inline CUmemoryPool default_pool(DeviceId device) {
  return reinterpret_cast<CUmemoryPool>(0x506f6f6c0000 + device.value());
}

// The memory of a pool: on a device, in the host, or managed.
struct PoolPlace {
  CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocation location{};  // preferred location for managed memory

  bool of_device() const {
    return type == CU_MEM_ALLOCATION_TYPE_PINNED && location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  }
  bool managed() const { return type == CU_MEM_ALLOCATION_TYPE_MANAGED; }
  auto operator<=>(const PoolPlace& other) const { return key() <=> other.key(); }
  bool operator==(const PoolPlace& other) const { return key() == other.key(); }

 private:
  std::tuple<int, int, int> key() const {
    const bool numbered =
        location.type == CU_MEM_LOCATION_TYPE_DEVICE || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return {type, location.type, numbered ? location.id : 0};
  }
};

inline PoolPlace place_of(DeviceId device) {
  return {CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_DEVICE, static_cast<int>(device.value())}};
}

// Identifies the pool of an exported handle or allocation, uniquely across processes.
struct PoolOrigin {
  std::uint64_t file = 0;    // the inode of the file with all memory of the location
  std::uint64_t number = 0;  // of the pool, in the process that created it

  bool operator==(const PoolOrigin&) const = default;
};

// How a pool is shared between processes.
struct PoolSharing {
  bool exported = false;   // created as exportable
  int file = -1;           // of an imported pool: the other process's file with its memory
  PoolOrigin origin = {};  // of an imported pool
};

class Pools {
 public:
  explicit Pools(int devices);

  // `limit`: the maximum size, 0 for none.
  CUmemoryPool create(const PoolPlace& place, const PoolSharing& sharing = {}, Bytes limit = {});
  // False for a pool that create() did not make. If it was current, the default pool becomes current.
  bool destroy(CUmemoryPool pool);
  PoolSharing sharing(CUmemoryPool pool);
  Bytes limit(CUmemoryPool pool);
  // Nothing for an unknown handle.
  std::optional<PoolPlace> place_of(CUmemoryPool pool);
  // The default pool is created at its first use.
  CUmemoryPool default_of(const PoolPlace& place);
  CUmemoryPool current(const PoolPlace& place);
  void set_current(const PoolPlace& place, CUmemoryPool pool);
  // Attributes set by the program.
  std::optional<std::uint64_t> attribute(CUmemoryPool pool, CUmemPool_attribute attribute);
  void set_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, std::uint64_t value);
  // The access of another device's kernels to the pool's memory: initially none.
  CUmemAccess_flags access(CUmemoryPool pool, DeviceId device);
  void set_access(CUmemoryPool pool, DeviceId device, CUmemAccess_flags access);

 private:
  Mutex mutex_{LockRank::kRegistry};
  std::uint64_t next_ GUARDED_BY(mutex_) = 0x506f6f6d0000;
  std::map<CUmemoryPool, PoolPlace> pools_ GUARDED_BY(mutex_);
  std::map<PoolPlace, CUmemoryPool> default_ GUARDED_BY(mutex_);
  std::map<PoolPlace, CUmemoryPool> current_ GUARDED_BY(mutex_);  // entries other than the default pool
  std::map<CUmemoryPool, Bytes> limits_ GUARDED_BY(mutex_);
  std::map<CUmemoryPool, PoolSharing> shared_ GUARDED_BY(mutex_);
  std::map<std::pair<CUmemoryPool, int>, std::uint64_t> attributes_ GUARDED_BY(mutex_);
  std::map<std::pair<CUmemoryPool, DeviceId>, CUmemAccess_flags> access_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
