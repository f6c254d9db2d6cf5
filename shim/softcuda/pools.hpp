// The memory pool of a device: there is one, it is the default, and it keeps nothing back.
//
// Thread safety: stateless.
#pragma once

#include "base/units.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

// A handle that is never followed: the device, marked so that no other handle equals it.
inline CUmemoryPool default_pool(DeviceId device) {
  return reinterpret_cast<CUmemoryPool>(0x506f6f6c0000 + device.value());
}

}  // namespace tessera::softcuda
