// The memory below the devices: pinned host memory, the spill file, memory that peers lend, and the host frames that
// can stand behind device addresses. All devices share it.
//
// Thread safety: every call may be made from any thread, except where REQUIRES says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/host_memory.hpp"
#include "api/node_memory.hpp"
#include "api/options.hpp"
#include "driver/driver.hpp"
#include "tier/backing_tier.hpp"
#include "tier/file_tier.hpp"
#include "tier/host_pages.hpp"
#include "tier/host_tier.hpp"
#include "tier/peer_tier.hpp"
#include "tier/registered_pages.hpp"
#include "tier/zero_copy_tier.hpp"

namespace tessera {

class LowerTiers {
 public:
  // `grows`: whether threads may grow the tiers ahead of need. `loans` as from peer_loans(). REQUIRES: what it refers
  // to outlives it.
  LowerTiers(Driver& driver, std::unique_ptr<FileTier> file, HostPages& pages, std::vector<Loan> loans,
             const Options& options, const Clock& clock, bool grows);
  ~LowerTiers() { stop_growing(); }  // its thread calls host_memory_, which ends before it
  // Ends the thread that grows the host tier. REQUIRES: no other call is being made.
  void stop_growing() { host_->stop_growing(); }

  HostTier& host() { return *host_; }
  const HostTier& host() const { return *host_; }
  FileTier& file() { return *file_; }
  const FileTier& file() const { return *file_; }
  HostMemory& host_memory() { return *host_memory_; }
  const HostMemory& host_memory() const { return *host_memory_; }
  // Null where nothing is shared with other programs.
  NodeMemory* node() { return node_.get(); }
  // One more device uses a staging reserve of host memory.
  void note_staging();

  // Null where the options do not ask for host-backed pages. Errors: kNotSupported where they do and the machine was
  // not seen to have them (DeviceProperties::host_frames). REQUIRES: one call at a time.
  Result<BackingTier*> choose_backing(DeviceId device);
  struct ZeroCopy {
    ZeroCopyTier* tier = nullptr;
    std::string reason;  // why there is none
  };
  // The tier for what kernels use in host memory; none where the machine has no such memory, or where pages are
  // host-backed anyway. REQUIRES: one call at a time, after choose_backing().
  Result<ZeroCopy> zero_copy_for(DeviceId device);
  // From now on the device has host-backed pages. REQUIRES: its heap can be found, and choose_backing() returned a
  // tier.
  void note_backed(DeviceId device) { backed_devices_.fetch_or(std::uint64_t{1} << device.value()); }
  // A bit per device with host-backed pages.
  std::uint64_t backed_devices() const { return backed_devices_.load(std::memory_order_acquire); }
  // Whether work that names no block has to be announced too: no host-backed page may be swapped while it starts.
  bool guards_all_work() const { return backed_devices() != 0; }

  // Device memory that is not lent to other devices yet. Its heap gets the rest, so loans are made first.
  Bytes to_lend(DeviceId device);
  // The tier that the device may borrow from. Null for a lender, and for a device that cannot access the lenders.
  PeerTier* peer_for(DeviceId device) const;
  // Returns unused memory that is lent to other devices.
  void trim_loans();

  // There is one budget for host memory, whichever tier uses it.
  TierUsage host_usage() const { return guards_all_work() ? backing_->usage() : host_->usage(); }
  TierUsage host_usage_with_staging() const {
    return guards_all_work() ? backing_->usage() : host_->usage_with_staging();
  }
  TierUsage peer_usage() const { return peer_ == nullptr ? TierUsage() : peer_->usage(); }

 private:
  void open_host(HostPages& pages, const Clock& clock);

  Driver& driver_;
  const Options& options_;
  const bool grows_;
  const std::unique_ptr<FileTier> file_;
  Bytes staging_;                     // the reserve of each device
  std::unique_ptr<NodeMemory> node_;  // null: nothing is shared with other programs
  std::unique_ptr<RegisteredPages> host_pages_;
  std::unique_ptr<NodeHostPages> node_pages_, node_block_pages_;  // null: host memory is not shared
  std::unique_ptr<HostTier> host_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<BackingTier> backing_;          // made before the first heap that uses it
  std::unique_ptr<ZeroCopyTier> zero_copy_;       // made as backing_
  std::unique_ptr<PeerTier> peer_;                // null if no device lends
  std::atomic<std::uint64_t> backed_devices_{0};  // a bit per device with host-backed pages
};

}  // namespace tessera
