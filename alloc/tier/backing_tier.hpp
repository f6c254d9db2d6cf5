// Pinned host memory that can stand behind a page's own address.
//
// A frame is a handle of host memory (FrameLocation::kHost). Copies go through its alias, so that bytes are
// complete before the frame stands anywhere else. One tier serves all devices of a process.
//
// Thread safety: as tier.hpp says.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "tier/alias_tier.hpp"
#include "tier/host_grower.hpp"

namespace tessera {

class BackingTier final : public AliasTier {
 public:
  // Frames are created for the first device, which is admitted and decides where in the machine they lie.
  BackingTier(Driver& driver, DeviceId first, Bytes capacity);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~BackingTier() override;
  // From now on a thread makes and destroys frames, which is to pin and to unpin: some ahead of need, and others while who
  // takes one waits for it. REQUIRES: nothing else was called yet.
  void grow_in_background();
  // A spare frame, if there is one; else a new one.
  Result<Frame> take(PageClass page_class) override;

  // Of the budget, what must stay free so that pages of a full heap can change places: one of any
  // class goes out before the other has come, and may be a large one for many base pages.
  static Bytes reserve_of(Bytes capacity);

 private:
  Result<Made> create_frame(Bytes bytes) override;
  Status destroy_frame(FrameId frame, Bytes bytes) override;

  bool make_ahead();

  const DeviceId first_;
  std::array<std::atomic<bool>, kPageClasses.size()> taken_{};  // classes of which any frame ever was
  std::unique_ptr<HostGrower> grower_;  // null: the thread that takes a frame makes it
};

}  // namespace tessera
