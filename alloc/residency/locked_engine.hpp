// The engine of one device with the lock that serialises it. The front (residency.hpp) owns it; the classes beside the
// front, one for each feature, take the lock for theirs.
//
// Thread safety: what is guarded, by the lock; the rest has rules of its own. Nothing but this lock is held when it is
// taken; callbacks and waits for other calls happen without it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "policy/policy.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/device_evictor.hpp"
#include "residency/eviction/fetcher.hpp"
#include "residency/eviction/host_evictor.hpp"
#include "residency/eviction/partial_runs.hpp"
#include "residency/eviction/planned_evictions.hpp"
#include "residency/eviction/rows.hpp"
#include "residency/eviction/run_eviction.hpp"
#include "residency/eviction/split_review.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/held_uses.hpp"
#include "residency/iteration/iteration_tracker.hpp"
#include "residency/iteration/plan_executor.hpp"
#include "residency/pages/page_moves.hpp"
#include "residency/residency_options.hpp"
#include "residency/streams/gate.hpp"
#include "residency/streams/stream_table.hpp"
#include "residency/streams/stream_waits.hpp"
#include "residency/use_counts.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

struct LockedEngine {
  LockedEngine(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy, EventLog& log,
               ResidencyOptions options, std::unique_ptr<CopyLanes> lanes);

  // Waits until no queued work uses the run. `fenced`: the status of the fence of all uses so far. Errors: kNotReady
  // after the whole patience; the driver's.
  Status await_uses(const Run& run, const Status& fenced) REQUIRES_LOCK(mutex);
  // Waits for all work on the device. Errors: kNotReady after the whole patience; the driver's.
  Status await_device();

  Driver& driver;
  const DeviceId device;
  TierStack tiers;
  Guide guide GUARDED_BY(mutex);
  EventLog& log;
  const ResidencyOptions options;
  const std::unique_ptr<CopyLanes> lanes;
  StreamTable streams;
  StreamWaits waits;
  IterationTracker tracker;
  Gate gate;
  UseCounts counts;
  std::atomic<std::uint32_t> in_flight{0};
  std::atomic<bool> awaits_room{false};
  std::atomic<bool> any_in_host{false};
  std::atomic<bool> watches{false};     // the addresses of launches in partial blocks are counted, ...
  std::atomic<bool> review_due{false};  // ... and enough of them were
  HeldUses held_uses;
  std::atomic<bool> automatic{true};
  std::atomic<bool> unseen{false};
  WaitingKernels waiting;
  mutable Mutex mutex{LockRank::kResidency};

  // Each refers to those before it.
  Engine engine GUARDED_BY(mutex);
  PageMoves moves GUARDED_BY(mutex);
  Transfers transfers GUARDED_BY(mutex);
  HostEvictor host_evictor GUARDED_BY(mutex);
  RunEviction run_eviction GUARDED_BY(mutex);
  PlannedEvictions planned_evictions GUARDED_BY(mutex);
  DeviceEvictor device_evictor GUARDED_BY(mutex);
  PartialRuns partial GUARDED_BY(mutex);
  SplitReview review GUARDED_BY(mutex);
  Fetcher fetcher GUARDED_BY(mutex);
  PlanExecutor executor GUARDED_BY(mutex);
  Rows rows GUARDED_BY(mutex);
};

}  // namespace tessera
