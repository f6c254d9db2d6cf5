// The machine of one device: tier, residency, pages and blocks, built bottom up.
//
// Thread safety: any thread. Immutable after create() but for the live extents; the layers guard themselves.
#pragma once

#include <atomic>
#include <memory>

#include "api/device_share.hpp"
#include "api/options.hpp"
#include "api/stream_join.hpp"
#include "block/block_cache.hpp"
#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "page/page_manager.hpp"
#include "residency/residency.hpp"
#include "sim/plan_simulator.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

class DeviceHeap {
 public:
  // The tiers below the device's own. `backing`, `peer` and `zero_copy` may be null, see TierStack. `to_lend`: device
  // memory that is not lent to other devices yet.
  struct Below {
    HostTier& host;
    FileTier& file;
    BackingTier* backing = nullptr;
    PeerTier* peer = nullptr;
    ZeroCopyTier* zero_copy = nullptr;
    Bytes to_lend{};
    LedgerAccess* ledgers = nullptr;  // to share the device with other programs, if the options do; may be null
  };
  // Errors: kNotSupported without virtual memory management, kOutOfMemory without addresses.
  static Result<std::unique_ptr<DeviceHeap>> create(Driver& driver, DeviceId device, const Below& below, EventLog& log,
                                                    const Options& options, PlanSimulator::Answer answer,
                                                    ClassOfTag class_of_tag);

  DeviceId device() const { return device_; }
  bool borrows() const { return borrows_; }
  Bytes total_memory() const { return total_memory_; }
  const DeviceTier& tier() const { return tier_; }
  DeviceTier& tier() { return tier_; }
  Residency& residency() { return *residency_; }
  PageManager& pages() { return *pages_; }
  BlockCache& blocks() { return *blocks_; }
  // Null where the device is not shared with other programs.
  DeviceShare* share() { return share_.get(); }
  StreamJoin& join() { return join_; }
  // Made at the first call. Errors: those of LiveExtents::create.
  Result<LiveExtents*> live_extents();
  // Null before that.
  LiveExtents* live_extents_if_any() { return live_extents_.load(); }

  bool holds(Address address) const { return address >= low_ && address < high_; }
  Status validate() const;

 private:
  DeviceHeap(Driver& driver, DeviceId device, Bytes total_memory, Bytes budget, DeviceTier::Margin margin,
             bool borrows);

  const DeviceId device_;
  const bool borrows_;
  const Bytes total_memory_;
  StreamJoin join_;
  std::unique_ptr<DeviceShare> share_;  // may be null
  DeviceTier tier_;
  Mutex live_extents_lock_{LockRank::kExtents};
  std::unique_ptr<LiveExtents> owned_live_extents_ GUARDED_BY(live_extents_lock_);
  std::atomic<LiveExtents*> live_extents_{nullptr};
  std::unique_ptr<Residency> residency_;
  std::unique_ptr<PageManager> pages_;
  std::unique_ptr<BlockCache> blocks_;
  Address low_, high_;  // of the pages; compared by every call to find the heap of an address
};

}  // namespace tessera
