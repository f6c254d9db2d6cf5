// The tiers below one device, from fast to slow: the front of this layer.
//
// Thread safety: immutable after construction; the tiers guard themselves.
#pragma once

#include "tier/device_tier.hpp"
#include "tier/file_tier.hpp"
#include "tier/host_tier.hpp"

namespace tessera {

// The device tier belongs to the device; host and file are shared by all devices of the process.
struct TierStack {
  DeviceTier& device;
  HostTier& host;
  FileTier& file;

  // What all tiers together can hold: the size of the heap.
  Bytes capacity() const {
    return device.usage().capacity + host.usage().capacity + file.usage().capacity;
  }
};

}  // namespace tessera
