// Calls that the driver serves itself, and that need device memory which Tessera may hold: the one place where such a
// call is made again after Tessera has yielded memory.
//
// A call that does not say what it needs (code that is loaded, local memory of a kernel, a context) is tried again
// after what is free has gone back, after as much has left as such calls usually need, and after half of what is there
// has left. One that says it is tried again once. So no call is made more than four times. Calls on a stream that is
// being captured are made once: they run nothing, and it cannot be known what a failed one has left in the capture.
//
// Which calls: those whose documentation in cuda.h names CUDA_ERROR_OUT_OF_MEMORY and that take device memory,
// launches, which load code and resize local memory, and launches and instantiations of graphs. Not those that take
// host memory.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "cuda_api.hpp"
#include "tessera/interpose.h"
#include "true_driver.hpp"

namespace tessera::preload {

// What a call may take, and where.
struct DriverNeed {
  static constexpr CUdevice kCurrent = -1;

  std::uint64_t bytes = TESSERA_YIELD_UNKNOWN;
  CUdevice device = kCurrent;
  CUstream stream = nullptr;  // on which it is made; null: on none
};

namespace detail {

// While it lives Tessera takes no more memory of the device.
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

// The device; -1 where nothing can be yielded for the call.
CUdevice device_to_yield(const DriverNeed& need);

}  // namespace detail

// For a call that the driver has refused with CUDA_ERROR_OUT_OF_MEMORY: as with_driver_room() goes on then.
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

// `attempt(ours)` makes the call and sets `ours` where it failed before the driver was asked. REQUIRES: the thread is
// in no use (ManagedUse) but those that begin and end within `attempt`.
template <class Attempt>
CUresult with_driver_room(const DriverNeed& need, Attempt attempt) {
  bool ours = false;
  const CUresult result = attempt(ours);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || ours) [[likely]]
    return result;
  return again_with_driver_room(need, attempt);
}

// The same for a call to the driver alone.
template <class Function, class... Args>
CUresult call_with_room(const DriverNeed& need, Function TrueDriver::*function, Args... args) {
  return with_driver_room(need, [&](bool&) { return call_true(function, args...); });
}

// The program has given memory back to the driver.
void expect_device_memory();

}  // namespace tessera::preload
