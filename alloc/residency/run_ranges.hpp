// Ranges: runs that the program has mapped side by side (pages/row.hpp), and what of them a launch gets where not all
// fits.
//
// Without extents, an address in a range means all of the range. Where that exceeds the device it would be a refusal of
// work that may use little of it. So the launch gets the runs that it names, and of the others as many as fit: those
// above its addresses first, the nearest first, since the address of an object is usually its first byte.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <vector>

#include "residency/locked_engine.hpp"
#include "residency/run_table.hpp"

namespace tessera {

class RunRanges {
 public:
  // REQUIRES: both outlive it.
  RunRanges(LockedEngine& locked, RunTable& runs) : locked_(locked), runs_(runs) {}

  // A range of addresses from `address` on.
  Run* add(Address address, TagId tag);
  // REQUIRES: no run is in it, and no call can find it.
  void remove(Run* range);
  std::vector<Run*> parts_of(const Run& range) const;
  Bytes bytes_of(Runs runs) const;  // each once
  bool fits(Runs runs) const;       // together on the device
  // These runs, and where they do not fill the device, others of the ranges of `origins`: the nearest above these
  // first, then those below. REQUIRES: the runs cannot be removed.
  std::vector<Run*> with_nearest(Runs named, Runs origins);

 private:
  void say_not_all(const Run& range) REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
  RunTable& runs_;
  bool said_not_all_ GUARDED_BY(locked_.mutex) = false;
};

}  // namespace tessera
