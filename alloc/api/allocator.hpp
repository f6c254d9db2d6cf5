// The allocator behind the C API: all of its calls, in C++ and without the conventions of C.
//
// create() assembles the machine, on one screen of allocator.cpp: one driver, one host tier, one file tier, and one
// DeviceHeap per device, built at its first use.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/announced_use.hpp"
#include "api/device_heap.hpp"
#include "api/exposure_log.hpp"
#include "api/foundations.hpp"
#include "api/history_report.hpp"
#include "api/host_memory.hpp"
#include "api/live_board.hpp"
#include "api/named_runs.hpp"
#include "api/oom_report.hpp"
#include "api/op_times.hpp"
#include "api/options.hpp"
#include "api/outputs.hpp"
#include "api/outside_memory.hpp"
#include "api/pump.hpp"
#include "api/stats_report.hpp"
#include "api/tag_table.hpp"
#include "api/ticker.hpp"
#include "base/clock.hpp"
#include "observe/event_log.hpp"
#include "observe/timeline.hpp"
#include "observe/trace_writer.hpp"
#include "tier/registered_pages.hpp"

namespace tessera {

class Allocator {
 public:
  // Uses this machine. REQUIRES: `clock` outlives the allocator.
  static Result<std::unique_ptr<Allocator>> create(std::unique_ptr<Driver> driver, const Options& options,
                                                   const Clock& clock);
  // Uses a machine given by the caller. REQUIRES: what `foundations` refers to outlives the allocator.
  static Result<std::unique_ptr<Allocator>> create(Foundations foundations, const Options& options);
  ~Allocator();

  // `unless_pushed`: the tag of the block if the thread has pushed none.
  Result<Address> allocate(DeviceId device, Bytes bytes, StreamId stream, TagId unless_pushed = TagId());
  Status free(Address address, StreamId stream);
  // The block is reused only after the work queued so far on each of the streams is done.
  Status free_after(Address address, std::span<const StreamId> streams);
  // mappable_memory.cpp: blocks that the program maps at addresses that it reserves (MappableBlocks, PageManager).
  Result<Address> create_mappable(DeviceId device, Bytes bytes);
  Status destroy_mappable(Address address);
  Result<Address> move_mappable(Address address, std::optional<Address> to);
  Result<Address> reserve_addresses(DeviceId device, Bytes bytes);
  Status unreserve_addresses(Address address);
  Status trim();
  // Residency::trim_device of the device; no effect where it has no heap yet.
  Status trim_device(DeviceId device, Bytes keep);
  // The same for `bytes` less than what is held now.
  Status trim_device_by(DeviceId device, Bytes bytes);
  // The context of the device ends: frees all of its blocks. No call finds them from then on. REQUIRES: no work uses
  // them, and no call about the device follows.
  void end_device(DeviceId device);
  // As Residency::begin_yield; 0 where there is no heap. REQUIRES: an end_yield for each that returned bytes.
  Result<Bytes> begin_yield(DeviceId device, Bytes wanted);
  void end_yield(DeviceId device);
  // The driver has no pinned host memory left for a call of the program: returns all that is unused here, after copies
  // that nothing needs were dropped. Returns the number of bytes.
  Result<Bytes> yield_host();
  HostMemory& host_memory() { return *host_memory_; }
  // The program freed driver memory of its own, so the driver may have memory again. Cheap.
  void expect_device_memory();

  // Addresses outside of live blocks are ignored. `name`: equal pointers mean the same kind of work; may be null.
  Status begin_use(std::span<const Address> addresses, StreamId stream, Access access, Use::Kind kind, const char* name,
                   AnnouncedUse& use);
  // Queued work that writes the blocks of the last `written` addresses and only reads the others.
  Status begin_use(std::span<const Address> addresses, std::size_t written, StreamId stream, const char* name,
                   AnnouncedUse& use);
  // The same by ranges, of which only the bytes named have to be there.
  Status begin_use(std::span<const AddressRange> ranges, StreamId stream, Access access, Use::Kind kind,
                   const char* name, AnnouncedUse& use);
  Status begin_use(std::span<const AddressRange> ranges, std::size_t written, StreamId stream, const char* name,
                   AnnouncedUse& use);
  // Queued work that names no block but may access any, since its address may come from memory or a global. No block is
  // evicted while it runs. `device`: that of the stream; without one the work counts on every device in use. `name`: as
  // for begin_use.
  void begin_unnamed(std::optional<DeviceId> device, StreamId stream, const char* name, AnnouncedUse& use);
  // Kernels of this name wait for others (Residency::expect_waiting), on every device, including those used later.
  void expect_waiting(const char* name);
  // Uses are derived from launches instead of being announced by the program: Residency::expect_unseen_work() for each
  // device, including those used later. Cheap.
  void expect_unseen_work() {
    if (!unseen_.load(std::memory_order_relaxed)) expect_unseen_work_from_now_on();
  }
  // Queued work that writes. Of the words that may not be addresses, as many blocks are fetched as fit beside the rest.
  Status begin_use(const GradedAddresses& words, StreamId stream, Access access, const char* name, AnnouncedUse& use);
  void end_use(AnnouncedUse& use);
  // Whether work that names no block has to be announced too: no host-backed page may be swapped while it starts.
  bool guards_all_work() const { return backed_devices_.load(std::memory_order_acquire) != 0; }
  Status touch(Address address, StreamId stream, Access access);
  // Around a wait of the program for its own work on the device (Residency::before_wait, note_over).
  std::uint64_t before_wait(DeviceId device) const;
  void note_waited(DeviceId device, std::optional<StreamId> stream, std::uint64_t before);

  // An address in the block then means its extent; without extents, the block. Errors: kNotFound, and those of
  // Extents::of and Rows::set_extents.
  Status set_extents(Address address, std::vector<Extent> extents);

  Status prefetch(std::span<const Address> addresses);
  Status evict(std::span<const Address> addresses);
  // Null: all blocks. Errors: kNotFound for a tag never used; those of residency, after all devices were tried.
  Result<Moved> sleep(const char* tag);
  Result<Moved> wake(const char* tag);
  // Whether blocks are evicted automatically when room is short; see Residency::set_automatic.
  Status set_automatic(bool on);
  // On all devices, including those used later; what was learned of the program is kept. Waits until a running
  // simulation is cancelled. Errors: kInvalidArgument, those of make_policy.
  Status set_policy(std::string_view name);
  // Recomputes the block's bytes: queues work on the stream it is given (recompute.hpp has its contract).
  using Recomputer = std::function<Status(Address, Bytes, StreamId)>;
  // An empty function ends it. Errors: kNotFound; kBusy where only the callback can restore the bytes.
  Status set_recompute(Address address, Recomputer recomputer, Nanoseconds cost);
  Status pin(Address address);
  Status unpin(Address address);
  // `reason` must live for ever.
  Status expose(Address address, const char* reason);
  Status keep(Address address, const char* reason);
  Status unkeep(Address address);
  // stats_collector.cpp. Logs the line that is due.
  void set_outside(const OutsideMemory::Report& report);
  Status retire_stream(StreamId stream);
  // Waits for all work on the device.
  Status synchronize(DeviceId device) { return driver_->synchronize(device); }
  Status mark(std::string_view kind, std::uint64_t number);
  TagTable& tags() { return tags_; }

  struct Where {
    DeviceId device;
    BlockInfo block;
    std::array<Bytes, kPlaces> tiers;  // as Residency::whereabouts
    std::uint32_t pins = 0;
  };
  // Errors: kNotFound.
  Result<Where> query(Address address);
  // Covers the heaps built so far; {0, 0} before the first.
  std::pair<Address, Address> managed_range() const;
  // The memory between the heaps of two devices may belong to others.
  bool manages(Address address) const { return heap_of(address) != nullptr; }
  // As cuMemGetInfo should report: what can be allocated before anything has to be evicted from the device, or with the
  // option "report-memory=virtual" before the heap is full. Builds a heap only in the latter case.
  Result<MemoryInfo> memory_info(DeviceId device);
  // The same for an allocation from the driver itself, to which free memory is returned when it is short.
  Result<MemoryInfo> memory_beside(DeviceId device);

  StatsSnapshot stats() const;
  // Publishes the statistics for an outside reader, if there is one.
  void show();
  std::string figures_to_show() const;
  // Stores what is due of the reports, for readers after this process was killed. May take 0.1 s, and wait for a disk.
  void keep_reports();
  Status write_timeline(const std::string& path, std::span<const TrackSlice> slices = {}) const;
  // Covers the whole run so far. Errors: kInvalidArgument when none is kept (options.history); kIo.
  Status write_history(const std::string& path) const;
  // Where moves end in between, tries again so many times to find its figures and the statistics at one time; then the
  // statistics have the history's figures.
  Result<std::string> history_text(int tries) const;
  // Advances transfers; false when nothing is in flight any more.
  bool advance();
  // Writes the files that the options request at the end of a program.
  Status finish();
  Status validate() const;

 private:
  static constexpr std::size_t kMaxDevices = 64;
  static constexpr std::size_t kMostTurns = 64;

  Allocator(Foundations foundations, const Options& options);
  Result<DeviceHeap*> heap(DeviceId device);
  // Null where there is none yet.
  DeviceHeap* made_heap(DeviceId device) const {
    return device.value() < kMaxDevices ? heaps_[device.value()].load(std::memory_order_acquire) : nullptr;
  }
  // Null where options or machine provide no host-backed pages. Errors: kNotSupported where the options require them.
  Result<BackingTier*> backing_for(DeviceId device) REQUIRES_LOCK(mutex_);
  // lower_tiers.cpp
  void open_peers(std::vector<Loan> loans);
  Bytes to_lend(DeviceId device);
  // The tier that the device may borrow from, or null.
  PeerTier* peer_for(DeviceId device) const;
  void expect_unseen_work_from_now_on();
  void enter_gates(AnnouncedUse& use);
  void leave_gates(AnnouncedUse& use);
  TierUsage host_usage() const;
  TierUsage peer_usage() const { return peer_ == nullptr ? TierUsage() : peer_->usage(); }
  MemoryInfo enlarged(DeviceHeap& heap) const;
  DeviceHeap* heap_of(Address address) const;
  // Calls `act(heap, run)` while the run cannot be removed. Errors: kNotFound.
  template <class Act>
  Status with_run(Address address, Act act);
  // Errors: kNotFound where the address is in no live block; the message names the reason.
  Status is_ours(Address address);
  static Status not_ours(Address address);
  template <class Act>
  Status with_run_until_held(Address address, Act act);
  Status pin(Address address, const char* exposed_by);
  // uses.cpp
  bool try_use(std::span<const Address> addresses, StreamId stream, Access access, AnnouncedUse& use);
  bool try_other(StreamId stream, AnnouncedUse& use);
  template <class Named>
  Status begin_named_use(std::span<const Named> named, StreamId stream, Access access, Use::Kind kind, const char* name,
                         AnnouncedUse& use);
  template <class Named>
  Status begin_partly_written(std::span<const Named> named, std::size_t written, StreamId stream, const char* name,
                              AnnouncedUse& use);
  bool try_touch(DeviceHeap& heap, Address address, StreamId stream, Access access);
  Status touch_absent(Address address, StreamId stream, Access access);
  Status begin_held(std::vector<AnnouncedUse::Part> parts, Access access, AnnouncedUse& use, const Held& held);
  // graded_uses.cpp
  struct Chosen {
    std::vector<Address> addresses;  // the first `needed` are required
    std::size_t needed = 0;
  };
  Result<Chosen> choose_fitting(const GradedAddresses& words, bool refuses_strays);
  template <class Named>
  Status begin_on_several(std::span<const Named> named, Access access, AnnouncedUse& use);
  Status explain_use(Status status, DeviceHeap& heap, std::span<Run* const> runs) const;
  template <class Named>
  TraceWriter::OpKind trace_op(std::span<const Named> named, StreamId stream, Access access, std::string_view name);
  void kick_pump(DeviceHeap& heap);
  // `too_large`: the cause reported if the request alone exceeds the device.
  Status explain(Status status, DeviceHeap& heap, Bytes asked, OomFigures::Cause too_large) const;
  Result<std::optional<TagId>> tag_named(const char* name) const;
  Result<Moved> on_all_heaps(const char* tag, Result<Moved> (Residency::*act)(std::optional<TagId>));

  const std::unique_ptr<Driver> driver_;
  const Options options_;
  EventLog log_;
  const Nanoseconds began_;
  TagTable tags_;
  ExposureLog exposures_;
  OutsideMemory outside_;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<OpTimes> op_times_;  // only with a trace
  std::unique_ptr<FileTier> file_;
  std::unique_ptr<RegisteredPages> host_pages_;
  std::unique_ptr<HostTier> host_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<BackingTier> backing_;          // made before the first heap that uses it
  std::unique_ptr<PeerTier> peer_;                // null if no device lends
  std::atomic<std::uint64_t> backed_devices_{0};  // a bit per device with host-backed pages

  mutable Mutex mutex_{LockRank::kApi};
  std::vector<std::unique_ptr<DeviceHeap>> owned_ GUARDED_BY(mutex_);
  bool automatic_ GUARDED_BY(mutex_) = true;
  std::vector<const char*> waiting_ GUARDED_BY(mutex_);  // names of kernels
  std::atomic<bool> unseen_{false};
  std::vector<PolicyTurn> policies_ GUARDED_BY(mutex_);  // never empty, at most kMostTurns; the last is active
  std::string unhinted_ GUARDED_BY(mutex_) = "off";      // as the statistics report it
  std::array<std::atomic<DeviceHeap*>, kMaxDevices> heaps_{};
  std::atomic<DeviceHeap*> only_heap_{nullptr};  // null if there are none or several
  std::atomic<std::uint64_t> low_{0};
  std::atomic<std::uint64_t> high_{0};
  Outputs outputs_;
  std::unique_ptr<LiveBoard> board_;  // may be null
  std::unique_ptr<Pump> pump_;        // may be null; stops before what it advances is destroyed
  std::unique_ptr<Ticker> ticker_;    // may be null; stops first
};

}  // namespace tessera
