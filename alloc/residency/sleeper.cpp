// Sleep and wake: evict and fetch all runs of a tag, at link speed.
//
// Sleeping is not a state of a run: it is away like any other evicted run, so it may be used, freed, pinned or woken at
// any time, and new blocks of its tag live in device memory meanwhile.
#include <algorithm>

#include "base/atomic_max.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

// This much is queued before the lock is released for a moment.
constexpr Bytes kBatch = 256_MiB;

Bytes bytes_there(const Run& run) {
  return run.bytes_in(PageState::kResident) + run.evicting_bytes() + run.bytes_in(PageState::kApart) +
         run.bytes_in(PageState::kFetching) + run.bytes_in(PageState::kRecomputing);
}

// Dead bytes are never fetched, so they do not count.
Bytes bytes_away(const Run& run) {
  if (run.is_dead()) return {};
  return run.bytes_in(PageState::kCold) + run.bytes_in(PageState::kSpilling) + run.bytes_in(PageState::kLoading) +
         run.bytes_in(PageState::kGone) + run.bytes_in(PageState::kLost);
}

bool no_room_code(Code code) { return code == Code::kOutOfMemory || code == Code::kBusy || code == Code::kNotReady; }

}  // namespace

std::vector<Run*> Residency::tagged(std::optional<TagId> tag, Side side) const {
  std::vector<Run*> runs;
  for (const auto& run : engine_.runs) {
    if (tag && run->tag != *tag) continue;
    if (side == Side::kThere ? bytes_there(*run) : bytes_away(*run)) runs.push_back(run.get());
  }
  // Sorted by address, so that the order does not depend on where the records were allocated.
  std::ranges::sort(runs, {}, [](const Run* run) { return run->address; });
  return runs;
}

Bytes Residency::tagged_bytes(std::optional<TagId> tag, Side side) const {
  MutexLock lock(mutex_);
  Bytes bytes;
  for (const Run* run : tagged(tag, side)) {
    bytes += side == Side::kThere ? bytes_there(*run) : bytes_away(*run);
  }
  return bytes;
}

Status Residency::set_automatic(bool on) {
  if (on) {
    TESSERA_TRY(account_for_unannounced());
    automatic_.store(true);
    return {};
  }
  MutexLock lock(mutex_);
  automatic_.store(false);
  executor_.cancel_evictions();
  return keep_evicting_runs();
}

// Holds the runs with evictions in flight, so that their pages stay when the copies are done: no use is announced any
// more.
Status Residency::keep_evicting_runs() {
  std::vector<Run*> leaving;
  for (const auto& run : engine_.runs) {
    if (run->evicting_bytes()) leaving.push_back(run.get());
  }
  held_uses_.hold(leaving);
  std::vector<PageRef> apart;
  for (Run* const run : leaving) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      if (is_apart(run->pages[i].state)) apart.push_back({run, i});
    }
  }
  Status status = transfers_.recall(apart);
  while (status.is_ok() && moves_.ledger.evicting_bytes())
    status = transfers_.finish(Transfers::Await::kEvicting, moves_.ledger.evicting_bytes());
  held_uses_.let_go(leaving);
  return status;
}

// Unannounced work leaves no stamp: it may be in flight and may have written anywhere, so all copies in lower tiers are
// invalid.
Status Residency::account_for_unannounced() {
  if (automatic_.load()) return {};
  TESSERA_TRY(driver_.synchronize(device_));  // the caller asks for this wait, so it has no bound
  MutexLock lock(mutex_);
  const std::uint64_t epoch = streams_.tick();
  for (const auto& run : engine_.runs) {
    if (!bytes_there(*run) || run->awaits_recompute()) continue;  // such work cannot have accessed these
    raise_to(run->used, epoch);
    raise_to(run->written, epoch);
  }
  return {};
}

Result<Moved> Residency::sleep(std::optional<TagId> tag) {
  TESSERA_TRY(account_for_unannounced());
  const Bytes before = tagged_bytes(tag, Side::kThere);
  TESSERA_TRY(start_evicting(tag));
  TESSERA_TRY(finish_evicting(tag));
  tiers_.device.trim();
  if (tiers_.peer != nullptr) tiers_.peer->trim();
  const Bytes after = tagged_bytes(tag, Side::kThere);
  return Moved{before > after ? before - after : Bytes(), after};
}

// Queues the copies of all of them in sequence. Between batches the lock is released, and runs may be freed, so each
// batch searches again; `passed` only rises through the addresses, so the loop ends.
Status Residency::start_evicting(std::optional<TagId> tag) {
  {
    MutexLock lock(mutex_);
    executor_.cancel_fetches(tagged(tag, Side::kThere));
    executor_.cancel_fetches(tagged(tag, Side::kAway));
  }
  for (Address passed;;) {
    MutexLock lock(mutex_);
    std::vector<Run*> runs = tagged(tag, Side::kThere);
    std::erase_if(runs, [&](const Run* run) { return run->address < passed; });
    Bytes queued;
    for (Run* run : runs) {
      if (queued >= kBatch) break;
      passed = run->address + Bytes(1);
      queued += bytes_there(*run);
      while (run->is_fetching()) {
        TESSERA_TRY(transfers_.finish(Transfers::Await::kOldest));
      }
      drop_peer_copies(*run);
      TESSERA_TRY(device_evictor_
                      .start_eviction(*run, run->shape.bytes(), DeviceEvictor::Patience::kDemand, OffloadTarget::kHost)
                      .status());
    }
    if (!queued) return {};
  }
}

// A page with a valid copy is evicted to that copy, and sleeping pages belong in the host.
void Residency::drop_peer_copies(Run& run) {
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (page->state == PageState::kResident) moves_.copies.drop_peer(page);
  }
}

// Waits for the copies. A run used during its eviction is evicted a second time; if used again, it stays.
Status Residency::finish_evicting(std::optional<TagId> tag) {
  MutexLock lock(mutex_);
  for (Run* run : tagged(tag, Side::kThere)) {
    while (run->evicting_bytes()) {
      TESSERA_TRY(transfers_.finish(Transfers::Await::kEvicting, run->evicting_bytes()));
    }
    if (!bytes_there(*run)) continue;
    drop_peer_copies(*run);
    if (Status status = device_evictor_.evict(*run, OffloadTarget::kHost);
        !status.is_ok() && status.code() != Code::kBusy) {
      return status;
    }
  }
  return {};
}

struct Residency::Waking {
  std::vector<Run*> runs{};
  Bytes bytes{};            // of these runs, not on the device
  bool recomputes = false;  // some of them are recomputed, so this call has the turn
};

// Holds the runs that are away, and takes the turn if some of them have to be recomputed.
Result<Residency::Waking> Residency::hold_away(std::optional<TagId> tag) {
  for (;;) {
    const std::uint32_t seen = held_uses_.ends();
    {
      MutexLock lock(mutex_);
      Waking waking{.runs = tagged(tag, Side::kAway)};
      if (!engine_.turn.keeps_waiting(waking.runs)) {
        for (const Run* run : waking.runs) {
          waking.bytes += bytes_away(*run);
          waking.recomputes |= run->awaits_recompute();
        }
        held_uses_.hold(waking.runs);
        if (waking.recomputes) engine_.turn.take();
        return waking;
      }
      if (!engine_.turn.may_wait()) return Status(Code::kBusy, "another call is recomputing blocks");
    }
    held_uses_.await_end(seen);
  }
}

// All runs are held until the last is fetched, so that none is evicted for another.
Result<Moved> Residency::wake(std::optional<TagId> tag) {
  Waking waking;
  TESSERA_TRY_ASSIGN(waking, hold_away(tag));
  Status status = bring_back(waking.runs);
  if (waking.recomputes) {
    const Status recomputed = recompute(waking.runs, kNoStream);
    if (status.is_ok()) status = recomputed;
  }
  held_uses_.let_go(waking.runs);
  if (waking.recomputes) {
    MutexLock lock(mutex_);
    undo_mounts(waking.runs);  // of those that did not fit completely
  }
  TESSERA_TRY(status);
  const Bytes after = tagged_bytes(tag, Side::kAway);
  return Moved{waking.bytes > after ? waking.bytes - after : Bytes(), after};
}

// A batch that does not fit is tried run by run, up to the first run that does not fit.
Status Residency::bring_back(std::span<Run* const> runs) {
  bool full = false;
  for (std::size_t first = 0; first < runs.size() && !full;) {
    std::size_t end = first;
    for (Bytes bytes; end < runs.size() && bytes < kBatch; ++end) bytes += bytes_away(*runs[end]);
    MutexLock lock(mutex_);
    const std::uint64_t late = engine_.stats.late_fetches;  // no call was waiting for these
    Status status = fetcher_.bring_in(runs.subspan(first, end - first));
    for (std::size_t i = first; i < end && no_room_code(status.code()) && !full; ++i) {
      const Status alone = fetcher_.bring_in(runs.subspan(i, 1));
      full = no_room_code(alone.code());
      if (!full && !alone.is_ok()) status = alone;
    }
    engine_.stats.late_fetches = late;
    if (!status.is_ok() && !no_room_code(status.code())) return status;
    first = end;
  }
  MutexLock lock(mutex_);
  return transfers_.await_arrivals(runs, kNoStream);
}

}  // namespace tessera
