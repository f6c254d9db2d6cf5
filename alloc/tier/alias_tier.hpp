// A tier with frames at addresses of the tier's own; `value` of a frame is that address, its *alias*.
//
// A frame is mapped at its alias from its creation to its destruction, with access for every admitted device and for
// the device that owns the memory: a copy may run in a context of either. Copies go through the alias, wherever else
// the frame is mapped. The derived tier decides where the memory comes from: backing_tier.hpp, peer_tier.hpp.
//
// Thread safety: as in tier.hpp.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "tier/handle_tier.hpp"

namespace tessera {

class AliasTier : public HandleTier {
 public:
  // Gives one more device access to the aliases. Errors: the driver's; aliases made later are not accessible to it then
  // either.
  Status admit(DeviceId device);
  // Those admitted so far, in that order.
  std::vector<DeviceId> admitted() const;

  static Address alias_of(const Frame& frame) { return Address(frame.value); }
  // The handle to map at another address. REQUIRES: the frame is out.
  FrameId handle_of(const Frame& frame) const;

 protected:
  // `devices` are admitted from the start.
  AliasTier(Location location, Driver& driver, Bytes capacity, std::vector<DeviceId> devices)
      : HandleTier(location, capacity), driver_(driver), devices_(std::move(devices)) {}

  // A frame, and the device that owns its memory.
  struct Made {
    FrameId frame;
    DeviceId owner;
  };
  // Called under the tier's locks.
  virtual Result<Made> create_frame(Bytes bytes) = 0;
  virtual Status destroy_frame(FrameId frame, Bytes bytes) = 0;

  Driver& driver_;

 private:
  struct Alias {
    FrameId frame;
    Bytes bytes;
  };

  Result<std::uint64_t> create_handle(Bytes bytes) override;
  Status destroy_handle(std::uint64_t value, Bytes bytes) override;
  Status show(Address alias, Bytes bytes, const Made& made) REQUIRES_LOCK(aliases_mutex_);

  mutable Mutex aliases_mutex_{LockRank::kAliases};
  std::vector<DeviceId> devices_ GUARDED_BY(aliases_mutex_);
  std::unordered_map<std::uint64_t, Alias> aliases_ GUARDED_BY(aliases_mutex_);
};

}  // namespace tessera
