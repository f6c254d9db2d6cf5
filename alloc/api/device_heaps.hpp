// The table of device heaps: each is built at its first use, and found by its device or by an address in it. What is
// set for all devices holds for those that are built later too.
//
// Thread safety: every call may be made from any thread. Look-ups take no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/device_heap.hpp"
#include "api/history_report.hpp"
#include "api/lower_tiers.hpp"
#include "api/options.hpp"
#include "api/pump.hpp"
#include "api/tag_table.hpp"
#include "base/mutex.hpp"
#include "observe/event_log.hpp"

namespace tessera {

// Errors of calls about an address that is in no live block: kNotFound, with the address.
Status not_ours(Address address);

class DeviceHeaps {
 public:
  static constexpr std::size_t kMaxDevices = 64;

  // `pump`: whether a thread advances the moves. `ledgers` may be null. REQUIRES: what it refers to outlives it.
  DeviceHeaps(Driver& driver, LowerTiers& lower, EventLog& log, const TagTable& tags, const Options& options, bool pump,
              LedgerAccess* ledgers);

  // ---- finding ----
  // Builds the heap at its first use. Errors: kInvalidArgument for an unknown device; DeviceHeap::create's.
  Result<DeviceHeap*> heap(DeviceId device);
  // Null where there is none yet.
  DeviceHeap* made(DeviceId device) const {
    return device.value() < kMaxDevices ? heaps_[device.value()].load(std::memory_order_acquire) : nullptr;
  }
  // Null if there are none or several.
  DeviceHeap* only() const { return only_.load(std::memory_order_acquire); }
  // Null where the address is in no heap.
  DeviceHeap* of(Address address) const;
  // The memory between the heaps of two devices may belong to others.
  bool manages(Address address) const { return of(address) != nullptr; }
  // Covers the heaps built so far; {0, 0} before the first.
  std::pair<Address, Address> managed_range() const { return {Address(low_.load()), Address(high_.load())}; }
  // Those built so far, in the order of their devices.
  class List {
   public:
    DeviceHeap* const* begin() const { return heaps_.data(); }
    DeviceHeap* const* end() const { return heaps_.data() + count_; }

   private:
    friend class DeviceHeaps;
    std::array<DeviceHeap*, kMaxDevices> heaps_;  // the first count_ are set
    std::size_t count_ = 0;
  };
  List all() const;

  // Calls `act(heap, run)` while the run cannot be removed. Errors: kNotFound.
  template <class Act>
  Status with_run(Address address, Act act) const {
    if (DeviceHeap* const heap = of(address)) {
      const BlockCache::Lookup lookup(heap->blocks());
      if (Run* const run = lookup.run_of(address)) return act(*heap, run);
    }
    return not_ours(address);
  }
  // Calls `act(residency, run, held)`; `act` calls `held` once the run cannot be removed any more. Errors: kNotFound.
  template <class Act>
  Status with_run_until_held(Address address, Act act) const {
    DeviceHeap* const heap = of(address);
    if (heap == nullptr) return not_ours(address);
    std::optional<BlockCache::Lookup> lookup(heap->blocks());
    Run* const run = lookup->run_of(address);
    if (run == nullptr) return not_ours(address);
    return act(heap->residency(), run, [&lookup] { lookup.reset(); });
  }
  // Errors: kNotFound where the address is in no live block.
  Status check_is_ours(Address address) const {
    return with_run(address, [](DeviceHeap&, Run*) { return Status(); });
  }

  // The context of the device ends: frees all of its blocks. No call finds them from then on. REQUIRES: no work uses
  // them, and no call about the device follows.
  void end(DeviceId device);

  // ---- what holds for all devices, including those used later ----
  // Whether blocks are evicted automatically when room is short; see AutomaticEviction::set.
  Status set_automatic(bool on);
  // What was learned of the program is kept. Waits until a running simulation is cancelled. Errors: kInvalidArgument,
  // those of make_policy.
  Status set_policy(std::string_view name);
  // Kernels of this name wait for others (Residency::expect_waiting).
  void expect_waiting(const char* name);
  // Uses are derived from launches instead of being announced by the program: Residency::expect_unseen_work() for each
  // device. Cheap.
  void expect_unseen_work() {
    if (!unseen_.load(std::memory_order_relaxed)) expect_unseen_work_from_now_on();
  }
  std::vector<PolicyTurn> policies() const;  // the last ones, oldest first; the last is active
  std::string policy() const;                // the active one
  std::string unhinted_access() const;       // as the statistics report it

  // ---- placeholders ----
  // Until uncover(), blocks at these addresses that are away have a placeholder mapped (Placeholders). Addresses in no
  // live block are ignored. Errors: kOutOfMemory, the driver's; nothing is covered then.
  Status cover(std::span<const Address> addresses);
  void uncover();

  // ---- moves ----
  // Advances transfers; false when nothing is in flight any more.
  bool advance();
  // Starts the thread that advances them, if there is to be one. `look` as Pump's.
  void start_pump(Pump::Look look);
  // For the pump: DeviceShare::look() of each. Returns the time until the next.
  std::chrono::milliseconds look_at_shares();
  void stop_pump() { pump_.reset(); }
  // The call that ends now may have started moves.
  void kick_pump(DeviceHeap& heap) {
    if (pump_ && heap.residency().has_work()) pump_->kick();
  }

  Status validate() const;

 private:
  static constexpr std::size_t kMostTurns = 64;

  void expect_unseen_work_from_now_on();
  void note_unhinted(bool backed, const LowerTiers::ZeroCopy& zero_copy) REQUIRES_LOCK(mutex_);

  Driver& driver_;
  LowerTiers& lower_;
  EventLog& log_;
  const TagTable& tags_;
  const Options& options_;
  const bool pumps_;
  LedgerAccess* const ledgers_;
  const Nanoseconds began_;

  mutable Mutex mutex_{LockRank::kApi};
  std::vector<std::unique_ptr<DeviceHeap>> owned_ GUARDED_BY(mutex_);
  bool automatic_ GUARDED_BY(mutex_) = true;
  std::vector<const char*> waiting_ GUARDED_BY(mutex_);  // names of kernels
  std::vector<PolicyTurn> policies_ GUARDED_BY(mutex_);  // never empty, at most kMostTurns; the last is active
  std::string unhinted_ GUARDED_BY(mutex_) = "off";
  std::atomic<bool> unseen_{false};
  std::array<std::atomic<DeviceHeap*>, kMaxDevices> heaps_{};
  std::atomic<DeviceHeap*> only_{nullptr};
  std::atomic<std::uint64_t> low_{0};
  std::atomic<std::uint64_t> high_{0};
  std::unique_ptr<Pump> pump_;  // may be null; stops before what it advances is destroyed
};

}  // namespace tessera
