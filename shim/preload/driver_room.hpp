// Retries calls that the driver serves itself when they fail for lack of device memory that Tessera holds. This is the
// only place where such a call is repeated after Tessera has yielded memory.
//
// A call of unknown size (loading code, local memory of a kernel, a context) is retried up to three times: after free
// memory was returned, after evicting as much as such calls usually need, and after evicting half of what is resident.
// A call of known size is retried once. Calls on a capturing stream are not retried: they run nothing, and a failed one
// may have left anything in the capture.
//
// Covered are the calls that take device memory and document CUDA_ERROR_OUT_OF_MEMORY in cuda.h; launches, which load
// code and resize local memory; and graph launches and instantiations. Calls that take host memory are in
// host_memory_hooks.cpp.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "cuda_api.hpp"
#include "tessera/interpose.h"
#include "true_driver.hpp"

namespace tessera::preload {

// How much memory a call may need, and where.
struct DriverNeed {
  static constexpr CUdevice kCurrent = -1;

  std::uint64_t bytes = TESSERA_YIELD_UNKNOWN;
  CUdevice device = kCurrent;
  CUstream stream = nullptr;  // that the call is queued on; null: none
};

namespace detail {

// While this object lives, Tessera takes no more memory of the device.
class YieldedRoom {
 public:
  YieldedRoom(CUdevice device, std::uint64_t wanted);
  ~YieldedRoom();
  YieldedRoom(const YieldedRoom&) = delete;
  YieldedRoom& operator=(const YieldedRoom&) = delete;

  bool any() const { return yielded_ != 0; }

 private:
  const CUdevice device_;
  std::uint64_t yielded_ = 0;
};

// The device to yield memory on; -1 if nothing can be yielded for the call.
CUdevice device_to_yield(const DriverNeed& need);

}  // namespace detail

// The slow path of with_driver_room(), for a call that the driver has refused with CUDA_ERROR_OUT_OF_MEMORY.
template <class Attempt>
[[gnu::noinline, gnu::cold]] CUresult again_with_driver_room(DriverNeed need, Attempt attempt) {
  const CUdevice device = detail::device_to_yield(need);
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  const bool is_known = need.bytes != TESSERA_YIELD_UNKNOWN;
  for (const std::uint64_t wanted : {std::uint64_t{0}, need.bytes, TESSERA_YIELD_HALF}) {
    if (device < 0 || (is_known && wanted != need.bytes)) continue;
    const detail::YieldedRoom room(device, wanted);
    bool ours = false;
    if (room.any()) result = attempt(ours);
    if (result != CUDA_ERROR_OUT_OF_MEMORY || ours) break;
  }
  return result;
}

// `attempt(ours)` makes the call, and sets `ours` if it failed before reaching the driver. REQUIRES: the thread holds
// no use (ManagedUse) other than those that begin and end within `attempt`.
template <class Attempt>
CUresult with_driver_room(const DriverNeed& need, Attempt attempt) {
  bool ours = false;
  const CUresult result = attempt(ours);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || ours) [[likely]]
    return result;
  return again_with_driver_room(need, attempt);
}

// The same for a plain driver call.
template <class Function, class... Args>
CUresult call_with_room(const DriverNeed& need, Function TrueDriver::*function, Args... args) {
  return with_driver_room(need, [&](bool&) { return call_true(function, args...); });
}

// The program has returned memory to the driver.
void expect_device_memory();

}  // namespace tessera::preload
