// Pinned host memory that can stand behind a page's own address; `value` of a frame is its alias.
//
// A frame is a handle of host memory (FrameLocation::kHost). From its creation to its end it is
// mapped at an address of the tier's, its *alias*, with access for every device that was admitted:
// copies go through the alias, so that bytes are complete before the frame stands anywhere else.
// One tier serves all devices of a process. Frames are not joined: an alias is one stretch.
//
// Thread safety: as tier.hpp says.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "tier/handle_tier.hpp"

namespace tessera {

class BackingTier final : public HandleTier {
 public:
  // Frames are created for the first device, which decides where in the machine they lie.
  BackingTier(Driver& driver, DeviceId first, Bytes capacity);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~BackingTier() override;

  // Lets one more device reach the aliases. Errors: the driver's.
  Status admit(DeviceId device);

  static Address alias_of(const Frame& frame) { return Address(frame.value); }
  // What to map at a page's address. REQUIRES: the frame is out.
  FrameId handle_of(const Frame& frame) const;

  // Of the budget, what must stay free so that pages of a full heap can change places: one of any
  // class goes out before the other has come, and may be a large one for many base pages.
  static Bytes reserve_of(Bytes capacity);

 private:
  struct Alias {
    FrameId frame;
    Bytes bytes;
  };

  Result<std::uint64_t> create_handle(Bytes bytes) override;
  Status destroy_handle(std::uint64_t value, Bytes bytes) override;
  Status show(Address alias, Bytes bytes, FrameId frame) REQUIRES_LOCK(aliases_mutex_);

  Driver& driver_;
  mutable Mutex aliases_mutex_{LockRank::kAliases};
  std::vector<DeviceId> devices_ GUARDED_BY(aliases_mutex_);
  std::unordered_map<std::uint64_t, Alias> aliases_ GUARDED_BY(aliases_mutex_);
};

}  // namespace tessera
