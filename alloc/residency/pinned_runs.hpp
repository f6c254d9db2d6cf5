// Runs that stay in device memory: pinned by the program, exposed for good, or kept for a reason that the statistics
// report.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "residency/demand_fetch.hpp"
#include "residency/locked_engine.hpp"

namespace tessera {

class PinnedRuns {
 public:
  // REQUIRES: both outlive it.
  PinnedRuns(LockedEngine& locked, DemandFetch& fetch) : locked_(locked), fetch_(fetch) {}

  // Fetches the run and keeps it on the device; for good with `exposed_by` (a string literal). Errors: also
  // kOutOfMemory if the runs do not all fit together and pinned ones would leave launches too little
  // (room_beside_pins); kBusy while other calls go on using it in host memory.
  Status pin(Run* run, const char* exposed_by = nullptr, const Held& held = {});
  Status unpin(Run* run);
  // The same with a reason that the statistics report, until the matching unkeep(). Errors: also kOutOfMemory where
  // pinned runs would leave too little room for launches.
  Status keep(Run* run, const char* reason, const Held& held = {});
  Status unkeep(Run* run);

 private:
  Status pin_held(Run& run, const char* exposed_by);
  bool await_others(std::uint32_t own_end) const;
  void add_pin(Run& run) REQUIRES_LOCK(locked_.mutex);
  void drop_pin(Run& run) REQUIRES_LOCK(locked_.mutex);
  void note_unseen_use(Run& run) REQUIRES_LOCK(locked_.mutex);
  Bytes room_beside_pins() const REQUIRES_LOCK(locked_.mutex);
  Bytes room_beside_kept() const REQUIRES_LOCK(locked_.mutex);
  Status check_room_beside_pins(const Run& run, Bytes launches) const REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
  DemandFetch& fetch_;
};

}  // namespace tessera
