// Pinned host memory that can stand behind a page's own address.
//
// A frame is a handle of host memory (FrameLocation::kHost). Copies go through its alias, so that bytes are
// complete before the frame stands anywhere else. One tier serves all devices of a process.
//
// Thread safety: as tier.hpp says.
#pragma once

#include "tier/alias_tier.hpp"

namespace tessera {

class BackingTier final : public AliasTier {
 public:
  // Frames are created for the first device, which is admitted and decides where in the machine they lie.
  BackingTier(Driver& driver, DeviceId first, Bytes capacity);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~BackingTier() override;

  // Of the budget, what must stay free so that pages of a full heap can change places: one of any
  // class goes out before the other has come, and may be a large one for many base pages.
  static Bytes reserve_of(Bytes capacity);

 private:
  Result<Made> create_frame(Bytes bytes) override;
  Status destroy_frame(FrameId frame, Bytes bytes) override;

  const DeviceId first_;
};

}  // namespace tessera
