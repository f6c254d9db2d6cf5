// Where the bytes of every run of one device are, and who moves them when: the front of this layer.
//
// The engine owns the runs and carries out all moves. Decisions come from the policy, frames from
// the tiers, ordering from the driver's streams and events. One lock serialises decisions and
// bookkeeping; a use whose pages are all present takes no lock, only the gate.
//
// How a use goes: begin_use enters the gate, sees that nothing is missing, stamps, returns; the
// caller queues its work; end_use leaves. If something is missing it leaves the gate, takes the
// lock, *holds* the runs, makes room, starts the copies, makes the stream wait for them, and enters
// the gate again.
//
// Thread safety: every call may be made from any thread. Between begin_use(kGate) and end_use a
// thread makes no other call here.
//
// Invariants: validate(), checked after every step of the fuzz test.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "policy/policy.hpp"
#include "residency/gate.hpp"
#include "residency/page_mover.hpp"
#include "residency/residency_stats.hpp"
#include "residency/run.hpp"
#include "residency/stream_table.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

enum class Access : std::uint8_t { kRead, kWrite };

// One announced use. kGate is for work that is queued and returns at once; kHold for calls that
// return when their work is done, and so must not keep the gate.
struct Use {
  enum class Kind : std::uint8_t { kGate, kHold };
  Kind kind = Kind::kGate;
  std::uint32_t gate_slot = 0;
};

struct ResidencyOptions {
  std::uint32_t low_percent = 6;    // of the device budget: start paging out when less is free
  std::uint32_t high_percent = 12;  // ... until so much is free
};

class Residency {
 public:
  static Result<std::unique_ptr<Residency>> create(Driver& driver, DeviceId device,
                                                   TierStack tiers, std::unique_ptr<Policy> policy,
                                                   EventLog& log, ResidencyOptions options);
  // Waits for all moves, then gives every frame back. REQUIRES: no queued work uses a run.
  ~Residency();

  // ---- runs ----
  // A run at `address` with nothing behind it. Errors: kOutOfMemory when all tiers together could
  // not hold it beside the runs there are.
  Result<Run*> add(Address address, RunShape shape, TagId tag);
  // Waits for its uses, unmaps it, gives its frames back. `run` is gone afterwards.
  Status remove(Run* run);

  // ---- uses ----
  // Every page of every run is in device memory as far as `stream` is concerned when this returns,
  // and stays until the work queued before end_use is over. Duplicates are allowed.
  // Errors: kOutOfMemory when the runs do not fit together, kDataLoss, kIo, kDriver.
  Status begin_use(std::span<Run* const> runs, StreamId stream, Access access, Use::Kind kind,
                   Use& use);
  void end_use(std::span<Run* const> runs, StreamId stream, Use use);
  // For a block that was just allocated (Run::live is counted already): backs its run for
  // `stream`; with kNoStream it waits for the bytes.
  Status ensure(Run* run, StreamId stream);
  // A block of the run was freed on `stream`: work queued there so far may still use it.
  void note_free(Run* run, StreamId stream);
  // The newest epoch; a use or free that is noted later gets a greater one.
  std::uint64_t epoch() const { return epoch_.load(); }

  // ---- hints ----
  // Starts bringing runs in while that needs nobody in use to leave.
  Status prefetch(std::span<Run* const> runs);
  // Moves runs out and waits for it. Errors: kBusy for a pinned or held run.
  Status evict(std::span<Run* const> runs);
  // Brings it in and keeps it. With `exposed_by` (a literal) it stays for good.
  Status pin(Run* run, const char* exposed_by = nullptr);
  Status unpin(Run* run);

  // ---- progress ----
  // Finishes what is done, and pages out ahead of need. Cheap when nothing is in flight.
  void advance();
  bool has_work() const { return in_flight_.load(std::memory_order_relaxed) != 0; }
  // Waits until no move is in flight.
  Status drain();
  // Gives unused frames back to the driver.
  void trim();

  StreamTable& streams() { return streams_; }
  ResidencyStats stats() const;
  // Bytes of `run` in device, host and file.
  std::array<Bytes, 3> whereabouts(const Run& run) const;
  Status validate() const;

 private:
  Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy,
            EventLog& log, ResidencyOptions options, StreamId inbound, StreamId outbound);

  bool all_present(std::span<Run* const> runs) const;
  void stamp(Run* run, std::uint32_t slot, std::uint64_t epoch, Access access);

  // fetch.cpp: who comes
  Status fetch(std::span<Run* const> runs, StreamId stream) REQUIRES_LOCK(mutex_);
  Status bring(Run& run, StreamId stream) REQUIRES_LOCK(mutex_);
  Status raise(std::span<Run* const> runs) REQUIRES_LOCK(mutex_);
  Status settle(PageRef page) REQUIRES_LOCK(mutex_);

  // room.cpp: who leaves
  Status make_room(Bytes bytes) REQUIRES_LOCK(mutex_);
  Status make_host_room(Bytes bytes) REQUIRES_LOCK(mutex_);
  Bytes page_out(Bytes bytes) REQUIRES_LOCK(mutex_);
  Snapshot picture(Shortage shortage, Bytes need) const REQUIRES_LOCK(mutex_);
  void page_out_ahead() REQUIRES_LOCK(mutex_);
  Status finish_moves(bool wait_for_one) REQUIRES_LOCK(mutex_);

  Driver& driver_;
  const DeviceId device_;
  TierStack tiers_;
  const std::unique_ptr<Policy> policy_;
  EventLog& log_;
  const ResidencyOptions options_;
  const StreamId inbound_;
  const StreamId outbound_;

  StreamTable streams_;
  Gate gate_;
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<std::uint32_t> in_flight_{0};

  mutable Mutex mutex_{LockRank::kResidency};
  ResidencyStats stats_ GUARDED_BY(mutex_);
  PageMover mover_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Run>> runs_ GUARDED_BY(mutex_);
  std::vector<PageRef> moving_ GUARDED_BY(mutex_);  // pages with a transfer in flight
  Bytes run_bytes_ GUARDED_BY(mutex_);
};

}  // namespace tessera
