#include "residency/automatic_eviction.hpp"

#include <vector>

#include "base/atomic_max.hpp"

namespace tessera {

Status AutomaticEviction::set(bool on) {
  if (on) {
    TESSERA_TRY(account_for_unannounced());
    locked_.automatic.store(true);
    return {};
  }
  MutexLock lock(locked_.mutex);
  locked_.automatic.store(false);
  locked_.executor.cancel_evictions();
  return keep_evicting_runs();
}

// Holds the runs with evictions in flight, so that their pages stay when the copies are done: no use is announced any
// more. For the same reason pages on their way in are mapped by then.
Status AutomaticEviction::keep_evicting_runs() {
  std::vector<Run*> leaving;
  for (const auto& run : locked_.engine.runs) {
    if (run->evicting_bytes()) leaving.push_back(run.get());
  }
  locked_.held_uses.hold(leaving);
  std::vector<PageRef> apart;
  for (Run* const run : leaving) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      if (is_apart(run->pages[i].state)) apart.push_back({run, i});
    }
  }
  Status status = locked_.transfers.parted.recall(apart);
  while (status.is_ok() && locked_.moves.ledger.evicting_bytes())
    status = locked_.transfers.ends.finish(Transfers::Await::kEvicting, locked_.moves.ledger.evicting_bytes());
  locked_.held_uses.let_go(leaving);
  while (status.is_ok() && locked_.moves.ledger.moving(PageState::kApartFetching)) {
    status = locked_.transfers.ends.finish(Transfers::Await::kOldest);
  }
  return status;
}

// Unannounced work leaves no stamp: it may be in flight and may have written anywhere, so all copies in lower tiers are
// invalid.
Status AutomaticEviction::account_for_unannounced() {
  if (locked_.automatic.load()) return {};
  TESSERA_TRY(locked_.driver.synchronize(locked_.device));  // the caller asks for this wait, so it has no bound
  MutexLock lock(locked_.mutex);
  const Epoch epoch = locked_.streams.tick();
  for (const auto& run : locked_.engine.runs) {
    if (!run->bytes_there() || run->awaits_recompute()) continue;  // such work cannot have accessed these
    raise_to(run->used, epoch);
    raise_to(run->written, epoch);
  }
  return {};
}

}  // namespace tessera
