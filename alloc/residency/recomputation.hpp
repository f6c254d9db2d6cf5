// Runs whose bytes a callback recomputes (pages/recompute.hpp): setting the callbacks, and calling them.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "residency/locked_engine.hpp"

namespace tessera {

class Recomputation {
 public:
  // REQUIRES: it outlives this.
  explicit Recomputation(LockedEngine& locked) : locked_(locked) {}

  // From now on the run may be evicted without a copy: `recompute.work` recomputes the bytes that its block has now
  // (recompute.hpp). An empty `work` ends that; kBusy where only the callback can restore the bytes. No effect on a run
  // that several blocks share.
  Status set(Run* run, Recompute recompute);

  // Recomputes those of the runs that have frames without bytes, outside of the lock, and returns the turn. Without a
  // stream, the bytes are present on return. REQUIRES: the caller holds the runs and has the turn.
  Status recompute(Runs runs, StreamId stream);
  // Waits for what a callback queued before it failed; afterwards its frames can be freed.
  static Status await_unfinished(LockedEngine& locked, Run& run) REQUIRES_LOCK(locked.mutex);
  // Frames without recomputed bytes are useless, so they are freed.
  static void undo_mounts(LockedEngine& locked, Runs runs) REQUIRES_LOCK(locked.mutex);

 private:
  Status recompute(Run& run, StreamId on);

  LockedEngine& locked_;
};

}  // namespace tessera
