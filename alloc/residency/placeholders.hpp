// Placeholders: for a moment, blocks that are away have something mapped at their addresses (page_placeholders.hpp).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "residency/locked_engine.hpp"

namespace tessera {

class Placeholders {
 public:
  // REQUIRES: it outlives this.
  explicit Placeholders(LockedEngine& locked) : locked_(locked) {}

  // Pages that are covered from now on stay so until the matching end(), or until they are on the device again.
  void begin();
  // REQUIRES: between begin() and end(). No work accesses the run until then, unless it announces its use. Errors:
  // kOutOfMemory, the driver's.
  Status cover(Run* run);
  // More calls than begin() are ignored.
  void end();

 private:
  LockedEngine& locked_;
  int begun_ GUARDED_BY(locked_.mutex) = 0;
};

}  // namespace tessera
