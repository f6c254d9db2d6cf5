// Pinned host memory that can be mapped at a page's own address.
//
// A frame is a handle of host memory (FrameLocation::kHost). Copies go through its alias, so the bytes are complete
// before the frame is mapped anywhere else. One tier serves all devices of a process.
//
// Thread safety: as in tier.hpp.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "tier/alias_tier.hpp"
#include "tier/host_grower.hpp"

namespace tessera {

class BackingTier : public AliasTier {
 public:
  // Frames are created for the first device, which is admitted and determines their location in the machine (NUMA).
  BackingTier(Driver& driver, DeviceId first, Bytes capacity);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~BackingTier() override;
  // From now on a thread creates and destroys frames, which pins and unpins memory: some ahead of need, others while
  // the thread that takes one waits. REQUIRES: no other call was made yet.
  void grow_in_background();
  // A spare frame if there is one, else a new one.
  Result<Frame> take(PageClass page_class) override;

  // The part of the budget that must stay free so that pages of a full heap can be swapped: a page leaves before the
  // other has been fetched, and may be a large one for many base pages.
  static Bytes reserve_of(Bytes capacity);

 private:
  Result<Made> create_frame(Bytes bytes) override;
  Status destroy_frame(FrameId frame, Bytes bytes) override;

  bool make_ahead();

  const DeviceId first_;
  std::array<std::atomic<bool>, kPageClasses.size()> taken_{};  // classes of which a frame was ever taken
  std::unique_ptr<HostGrower> grower_;                          // null: the thread that takes a frame creates it
};

}  // namespace tessera
