// The tiers below one device, from fast to slow: the front of this layer.
//
// Thread safety: immutable after construction; the tiers guard themselves.
#pragma once

#include "tier/backing_tier.hpp"
#include "tier/device_tier.hpp"
#include "tier/file_tier.hpp"
#include "tier/host_tier.hpp"
#include "tier/peer_tier.hpp"
#include "tier/zero_copy_tier.hpp"

namespace tessera {

// The device tier belongs to the device; the others are shared by all devices of the process.
struct TierStack {
  DeviceTier& device;
  HostTier& host;
  FileTier& file;
  BackingTier* backing = nullptr;     // replaces all tiers below: evicted pages stay mapped
  PeerTier* peer = nullptr;           // null if no device lends to this one
  ZeroCopyTier* zero_copy = nullptr;  // null where no page may be used in host memory

  bool is_backed() const { return backing != nullptr; }
  // The tier of host frames that are mapped at pages' addresses. REQUIRES: there is one.
  BackingTier& mapped_host() const { return is_backed() ? *backing : *zero_copy; }
  TierUsage host_usage() const { return is_backed() ? backing->usage() : host.usage(); }
  // What all tiers together can hold: the size of the heap.
  Bytes capacity() const {
    const Bytes on_device = device.usage().capacity;
    const Bytes lent = peer == nullptr ? Bytes() : peer->usage().capacity;
    // Host memory that holds pages at their own addresses is not part of the host tier's budget meanwhile.
    const Bytes at_addresses = zero_copy == nullptr ? Bytes() : zero_copy->usage().used;
    if (!is_backed()) return on_device + lent + host.usage().capacity + at_addresses + file.usage().capacity;
    const Bytes below = backing->usage().capacity;
    return on_device + below - BackingTier::reserve_of(below);
  }
};

}  // namespace tessera
