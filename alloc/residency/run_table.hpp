// The runs of one device: they are added, moved to other addresses, cut by extents, and removed.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "residency/locked_engine.hpp"

namespace tessera {

class RunTable {
 public:
  // REQUIRES: it outlives this.
  explicit RunTable(LockedEngine& locked) : locked_(locked) {}
  // Waits for all moves, then returns every frame. REQUIRES: no queued work uses a run.
  ~RunTable();

  // Adds a run at `address` with no frames. Errors: kOutOfMemory when all tiers together could not hold it in addition
  // to the existing runs.
  Result<Run*> add(Address address, RunShape shape, TagId tag, RunOwner owner = {});
  // Waits for the run's uses, returns its frames and destroys it. Errors: kBusy where a use is in progress or does not
  // end. `run` is gone after every other result.
  Status remove(Run* run);
  void disown(Run* run);  // its owner is destroyed, and leaves a run behind that could not be removed
  // Moves the run to another address, without a copy, once its uses are over; pins end. It is in `range` then, if that
  // is not null. REQUIRES: no other call can find it. Errors: kBusy as remove(), the driver's; it is where it was then.
  Status rehome(Run* run, Address to, Run* range = nullptr);

  Result<std::unique_ptr<const Extents>> set_extents(Run* run, std::optional<Extents> extents);  // as Rows::set_extents
  // As Rows::follow and Rows::keep_whole.
  Result<std::unique_ptr<const Extents>> follow(Run* run, LiveExtents& live);
  void keep_whole(Run* run);
  // An address may mean less, or more, than the run that contains it: some run has extents, or had, or is in a range.
  bool names_parts() const { return names_parts_.load(std::memory_order_relaxed); }
  void expect_names_of_parts() { names_parts_.store(true); }
  void expect_parts(Run* run);  // a call uses a part of it, and not all of it is present: it may become a row

 private:
  Status settle(Run& run) REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
  std::atomic<bool> names_parts_{false};
};

}  // namespace tessera
