// Yielding: device memory goes back to the driver for an allocation that Tessera does not serve: loaded code, local
// memory of a kernel, a context, memory from a pool or from cuMemCreate. So does pinned host memory.
#include <algorithm>

#include "residency/residency.hpp"

namespace tessera {
namespace {

// For a call of unknown size: a framework's context takes about this much, and almost all local memory less. Any excess
// comes back by HandleTier::regain().
constexpr Bytes kUsualNeed = 512_MiB;

Bytes round_up_to_pages(Bytes bytes) { return (bytes + kBasePage - Bytes(1)) / kBasePage * kBasePage; }

}  // namespace

// Evicts pages of dead runs without a copy; the runs keep their addresses and may be used again.
Status Residency::free_idle(Bytes bytes) {
  TESSERA_TRY(engine_.fence_all());
  TESSERA_TRY(streams_.poll());
  TESSERA_TRY(transfers_.finish(Transfers::Await::kNone));
  return device_evictor_.page_out_dead(bytes).status();
}

Status Residency::trim_device(Bytes keep) {
  MutexLock lock(mutex_);
  const TierUsage usage = tiers_.device.usage();
  if (usage.used > keep) TESSERA_TRY(free_idle(usage.used - keep));
  tiers_.device.trim_to(keep);
  return {};
}

Result<Bytes> Residency::begin_yield(Bytes wanted) {
  MutexLock lock(mutex_);
  const TierUsage before = tiers_.device.usage();
  tiers_.device.begin_yield();
  Status status = free_idle(before.used);
  tiers_.device.yield_spare();
  if (status.is_ok() && wanted) status = evict_for_driver(wanted);
  // If not all of it can be evicted, or work that makes no progress blocks it, the bytes evicted so far may suffice.
  const Code code = status.code();
  const bool some_stay = code == Code::kOutOfMemory || code == Code::kBusy || code == Code::kNotReady;
  if (!status.is_ok() && !some_stay) {
    tiers_.device.end_yield();
    return status;
  }
  const TierUsage after = tiers_.device.usage();
  return before.used + before.spare - (after.used + after.spare);
}

Status Residency::drop_host_copies() {
  MutexLock lock(mutex_);
  if (tiers_.is_backed()) return {};
  // Copies in flight have frames too. Those behind work that does not end keep them, and so do those that fail.
  note_given_up(transfers_.finish_all());
  const Bytes all = tiers_.host.usage().used;
  host_evictor_.drop_idle_copies(CopyLocation::kHost, all);
  return host_evictor_.discard_dead(CopyLocation::kHost, all).status();
}

// Moves nothing if the need cannot be met in full. Runs with live blocks must still fit into all tiers together, or
// pages would fill the staging reserve and nothing could be fetched. A launch that is retried needs its own blocks, so
// half of them stay if the need is not known.
Status Residency::evict_for_driver(Bytes wanted) {
  MemoryInfo memory;
  TESSERA_TRY_ASSIGN(memory, driver_.memory_info(device_));
  const TierUsage usage = tiers_.device.usage();
  Bytes live;
  for (const auto& run : engine_.runs) {
    if (!run->is_dead()) live += run->shape.bytes();
  }
  const Bytes beside = tiers_.capacity() - usage.capacity + usage.used;
  const Bytes movable = usage.used - std::min(usage.used, engine_.pinned_bytes + usage.lost);
  const Bytes most = std::min(movable, beside - std::min(beside, live));
  const Bytes half = std::min(most, usage.used / 2) / kBasePage * kBasePage;
  Bytes needed;
  if (wanted == kUnknown) {
    needed = std::min(kUsualNeed, half);
  } else if (wanted == kHalf) {
    needed = half;
  } else if (wanted > memory.free) {
    needed = round_up_to_pages(wanted - memory.free);
  }
  if (!needed || needed > most) return {};
  const Status made = device_evictor_.make_room(usage.room() + needed);
  tiers_.device.yield_spare();
  return made;
}

}  // namespace tessera
