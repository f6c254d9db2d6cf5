#include "residency/sleeper.hpp"

#include <algorithm>

namespace tessera {
namespace {

// This much is queued before the lock is released for a moment.
constexpr Bytes kWakeBatch = 256_MiB;

// Dead bytes are never fetched, so they do not count.
Bytes bytes_away(const Run& run) {
  if (run.is_dead()) return {};
  return run.bytes_in(PageState::kReachable) + run.bytes_in(PageState::kCold) + run.bytes_in(PageState::kSpilling) +
         run.bytes_in(PageState::kLoading) + run.bytes_in(PageState::kGone) + run.bytes_in(PageState::kLost);
}

bool no_room_code(Code code) { return code == Code::kOutOfMemory || code == Code::kBusy || code == Code::kNotReady; }

}  // namespace

std::vector<Run*> Sleeper::tagged(std::optional<TagId> tag, Side side) const {
  std::vector<Run*> runs;
  for (const auto& run : locked_.engine.runs) {
    if (tag && run->tag != *tag) continue;
    if (side == Side::kThere ? run->bytes_there() : bytes_away(*run)) runs.push_back(run.get());
  }
  // Sorted by address, so that the order does not depend on where the records were allocated.
  std::ranges::sort(runs, {}, [](const Run* run) { return run->address; });
  return runs;
}

Bytes Sleeper::tagged_bytes(std::optional<TagId> tag, Side side) const {
  MutexLock lock(locked_.mutex);
  Bytes bytes;
  for (const Run* run : tagged(tag, side)) {
    bytes += side == Side::kThere ? run->bytes_there() : bytes_away(*run);
  }
  return bytes;
}

Result<Moved> Sleeper::sleep(std::optional<TagId> tag, const Interrupted& interrupted) {
  TESSERA_TRY(automatic_.account_for_unannounced());
  const Bytes before = tagged_bytes(tag, Side::kThere);
  TESSERA_TRY(start_evicting(tag, interrupted));
  TESSERA_TRY(finish_evicting(tag, interrupted));
  locked_.tiers.device.trim();
  if (locked_.tiers.peer != nullptr) locked_.tiers.peer->trim();
  const Bytes after = tagged_bytes(tag, Side::kThere);
  return Moved{before > after ? before - after : Bytes(), after};
}

// Queues the copies of all of them in sequence. Between batches the lock is released, and runs may be freed, so each
// batch searches again; `passed` only rises through the addresses, so the loop ends.
Status Sleeper::start_evicting(std::optional<TagId> tag, const Interrupted& interrupted) {
  {
    MutexLock lock(locked_.mutex);
    locked_.executor.cancel_fetches(tagged(tag, Side::kThere));
    locked_.executor.cancel_fetches(tagged(tag, Side::kAway));
  }
  for (Address passed; !interrupted || !interrupted();) {
    MutexLock lock(locked_.mutex);
    std::vector<Run*> runs = tagged(tag, Side::kThere);
    std::erase_if(runs, [&](const Run* run) { return run->address < passed; });
    Bytes queued;
    for (Run* run : runs) {
      if (queued >= kWakeBatch) break;
      passed = run->address + Bytes(1);
      queued += run->bytes_there();
      const Status arrived = locked_.run_eviction.await_arrival(*run);
      if (arrived.code() == Code::kBusy) continue;
      TESSERA_TRY(arrived);
      drop_peer_copies(*run);
      TESSERA_TRY(locked_.run_eviction
                      .start(*run, run->shape.bytes(), RunEviction::Patience::kDemand, RunEviction::Which::kAll,
                             Location::kHost)
                      .status());
    }
    if (!queued) return {};
  }
  return {};
}

// A page with a valid copy is evicted to that copy, and sleeping pages belong in the host.
void Sleeper::drop_peer_copies(Run& run) {
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (page->state == PageState::kResident) locked_.moves.copies.drop_peer(page);
  }
}

// Waits for the copies. A run used during its eviction is evicted a second time; if used again, it stays. So does one
// that is used by work that does not end.
Status Sleeper::finish_evicting(std::optional<TagId> tag, const Interrupted& interrupted) {
  MutexLock lock(locked_.mutex);
  for (Run* run : tagged(tag, Side::kThere)) {
    if (interrupted && interrupted()) return {};
    Status left;
    while (run->evicting_bytes() && left.is_ok()) {
      left = locked_.transfers.ends.finish(Transfers::Await::kEvicting, run->evicting_bytes());
    }
    if (left.code() == Code::kNotReady) continue;
    TESSERA_TRY(left);
    if (!run->bytes_there()) continue;
    drop_peer_copies(*run);
    if (Status status = locked_.run_eviction.evict(*run, Location::kHost);
        !status.is_ok() && status.code() != Code::kBusy) {
      return status;
    }
  }
  return {};
}

struct Sleeper::Waking {
  std::vector<Run*> runs{};
  Bytes bytes{};            // of these runs, not on the device
  bool recomputes = false;  // some of them are recomputed, so this call has the turn
};

// Holds the runs that are away, and takes the turn if some of them have to be recomputed.
Result<Sleeper::Waking> Sleeper::hold_away(std::optional<TagId> tag) {
  for (;;) {
    const std::uint32_t seen = locked_.held_uses.ends();
    {
      MutexLock lock(locked_.mutex);
      Waking waking{.runs = tagged(tag, Side::kAway)};
      if (!locked_.engine.turn.keeps_waiting(waking.runs)) {
        for (const Run* run : waking.runs) {
          waking.bytes += bytes_away(*run);
          waking.recomputes |= run->awaits_recompute();
        }
        locked_.held_uses.hold(waking.runs);
        if (waking.recomputes) locked_.engine.turn.take();
        return waking;
      }
      if (!locked_.engine.turn.may_wait()) return Status(Code::kBusy, "another call is recomputing blocks");
    }
    locked_.held_uses.await_end(seen);
  }
}

// All runs are held until the last is fetched, so that none is evicted for another.
Result<Moved> Sleeper::wake(std::optional<TagId> tag) {
  Waking waking;
  TESSERA_TRY_ASSIGN(waking, hold_away(tag));
  Status status = bring_back(waking.runs);
  if (waking.recomputes) {
    const Status recomputed = recomputation_.recompute(waking.runs, kNoStream);
    if (status.is_ok()) status = recomputed;
  }
  locked_.held_uses.let_go(waking.runs);
  if (waking.recomputes) {
    MutexLock lock(locked_.mutex);
    Recomputation::undo_mounts(locked_, waking.runs);  // of those that did not fit completely
  }
  TESSERA_TRY(status);
  const Bytes after = tagged_bytes(tag, Side::kAway);
  return Moved{waking.bytes > after ? waking.bytes - after : Bytes(), after};
}

// A batch that does not fit is tried run by run, up to the first run that does not fit.
Status Sleeper::bring_back(std::span<Run* const> runs) {
  bool full = false;
  for (std::size_t first = 0; first < runs.size() && !full;) {
    std::size_t end = first;
    for (Bytes bytes; end < runs.size() && bytes < kWakeBatch; ++end) bytes += bytes_away(*runs[end]);
    MutexLock lock(locked_.mutex);
    const std::uint64_t late = locked_.engine.stats.late_fetches;  // no call was waiting for these
    Status status = locked_.fetcher.bring_in(runs.subspan(first, end - first), Transfers::Mapped::kOnArrival);
    for (std::size_t i = first; i < end && no_room_code(status.code()) && !full; ++i) {
      const Status alone = locked_.fetcher.bring_in(runs.subspan(i, 1), Transfers::Mapped::kOnArrival);
      full = no_room_code(alone.code());
      if (!full && !alone.is_ok()) status = alone;
    }
    locked_.engine.stats.late_fetches = late;
    if (!status.is_ok() && !no_room_code(status.code())) return status;
    first = end;
  }
  MutexLock lock(locked_.mutex);
  return locked_.transfers.ends.await_arrivals(runs, kNoStream);
}

}  // namespace tessera
