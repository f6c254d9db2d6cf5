#include "residency/driver_yield.hpp"

#include <algorithm>

namespace tessera {
namespace {

// For a call of unknown size: a framework's context takes about this much, and almost all local memory less. Any excess
// comes back by HandleTier::regain().
constexpr Bytes kUsualNeed = 512_MiB;

Bytes round_up_to_pages(Bytes bytes) { return (bytes + kBasePage - Bytes(1)) / kBasePage * kBasePage; }

}  // namespace

// Evicts pages of dead runs without a copy; the runs keep their addresses and may be used again.
Status DriverYield::free_idle(Bytes bytes) {
  TESSERA_TRY(locked_.engine.fence_all());
  TESSERA_TRY(locked_.streams.poll());
  TESSERA_TRY(locked_.transfers.ends.finish(Transfers::Await::kNone));
  return locked_.device_evictor.page_out_dead(bytes).status();
}

Status DriverYield::trim_device(Bytes keep) {
  MutexLock lock(locked_.mutex);
  const TierUsage usage = locked_.tiers.device.usage();
  if (usage.used > keep) TESSERA_TRY(free_idle(usage.used - keep));
  locked_.tiers.device.trim_to(keep);
  return {};
}

Result<Bytes> DriverYield::begin(Bytes wanted) {
  MutexLock lock(locked_.mutex);
  const TierUsage before = locked_.tiers.device.usage();
  locked_.tiers.device.begin_yield();
  Status status = free_idle(before.used);
  locked_.tiers.device.yield_spare();
  if (status.is_ok() && wanted) status = evict_for_driver(wanted);
  // If not all of it can be evicted, or work that makes no progress blocks it, the bytes evicted so far may suffice.
  const Code code = status.code();
  const bool some_stay = code == Code::kOutOfMemory || code == Code::kBusy || code == Code::kNotReady;
  if (!status.is_ok() && !some_stay) {
    locked_.tiers.device.end_yield();
    return status;
  }
  const TierUsage after = locked_.tiers.device.usage();
  return before.used + before.spare - (after.used + after.spare);
}

Status DriverYield::drop_host_copies() {
  MutexLock lock(locked_.mutex);
  if (locked_.tiers.is_backed()) return {};
  // Copies in flight have frames too. Those behind work that does not end keep them, and so do those that fail.
  note_given_up(locked_.transfers.ends.finish_all());
  const Bytes all = locked_.tiers.host.usage().used;
  locked_.host_evictor.drop_idle_copies(Location::kHost, all);
  return locked_.host_evictor.discard_dead(Location::kHost, all).status();
}

Result<Bytes> DriverYield::shed_host(Bytes bytes) {
  const MutexLock lock(locked_.mutex);
  if (locked_.tiers.is_backed()) return Bytes();
  Bytes freed = locked_.host_evictor.drop_idle_copies(Location::kHost, bytes);
  if (freed < bytes) {
    TESSERA_TRY_ASSIGN(const Bytes dead, locked_.host_evictor.discard_dead(Location::kHost, bytes - freed));
    freed += dead;
  }
  if (freed >= bytes || !locked_.tiers.file.takes_writes()) return freed;
  TESSERA_TRY_ASSIGN(const Bytes spilled, locked_.host_evictor.spill_coldest(bytes - freed));
  return freed + spilled;
}

Result<Bytes> DriverYield::shed_device(Bytes ceiling, Bytes piece) {
  const MutexLock lock(locked_.mutex);
  HandleTier& device = locked_.tiers.device;
  const auto over = [&]() REQUIRES_LOCK(locked_.mutex) {
    device.set_ceiling(ceiling);
    const TierUsage usage = device.usage();
    const Bytes stays = ceiling + locked_.moves.ledger.evicting_bytes(), held = usage.used + usage.spare;
    return held - std::min(held, stays);
  };
  TESSERA_TRY(locked_.transfers.ends.finish(Transfers::Await::kNone));
  if (const Bytes idle = over()) TESSERA_TRY(free_idle(idle));
  const Bytes surplus = over();
  if (!surplus) return surplus;
  const Bytes wanted = std::min(surplus, piece);
  TESSERA_TRY_ASSIGN(Bytes evicted, locked_.device_evictor.page_out(wanted, DeviceEvictor::Patience::kAhead));
  if (!evicted) {
    TESSERA_TRY_ASSIGN(evicted, locked_.device_evictor.page_out(wanted, DeviceEvictor::Patience::kDemand));
  }
  if (!evicted) return Status(Code::kOutOfMemory, "nothing more can be evicted");
  return over();
}

void DriverYield::set_ceiling(Bytes ceiling) {
  const MutexLock lock(locked_.mutex);
  locked_.tiers.device.set_ceiling(ceiling);
}

double DriverYield::in_rate() {
  const MutexLock lock(locked_.mutex);
  return locked_.moves.links.in_rate();
}

// Moves nothing if the need cannot be met in full. Runs with live blocks must still fit into all tiers together, or
// pages would fill the staging reserve and nothing could be fetched. A launch that is retried needs its own blocks, so
// half of them stay if the need is not known.
Status DriverYield::evict_for_driver(Bytes wanted) {
  MemoryInfo memory;
  TESSERA_TRY_ASSIGN(memory, locked_.driver.memory_info(locked_.device));
  const TierUsage usage = locked_.tiers.device.usage();
  Bytes live;
  for (const auto& run : locked_.engine.runs) {
    if (!run->is_dead()) live += run->shape.bytes();
  }
  const Bytes beside = locked_.tiers.capacity() - usage.capacity + usage.used;
  const Bytes movable = usage.used - std::min(usage.used, locked_.engine.pinned_bytes + usage.lost);
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
  const Status made = locked_.device_evictor.make_room(usage.room() + needed);
  locked_.tiers.device.yield_spare();
  return made;
}

}  // namespace tessera
