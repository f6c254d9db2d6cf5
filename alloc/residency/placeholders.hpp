// Placeholders: for a moment, blocks that are away have something mapped at their addresses (page_placeholders.hpp).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "residency/driver_yield.hpp"
#include "residency/locked_engine.hpp"

namespace tessera {

class Placeholders {
 public:
  // REQUIRES: both outlive it.
  Placeholders(LockedEngine& locked, DriverYield& yields) : locked_(locked), yields_(yields) {}

  // Pages that are covered from now on stay so until the matching end(), or until they are on the device again.
  void begin();
  // REQUIRES: between begin() and end(). No work accesses the run until then, unless it announces its use. Errors:
  // kOutOfMemory, the driver's.
  Status cover(Run* run);
  // After kOutOfMemory, between begin() and end(): evicts what a placeholder needs, until the last end(). May wait.
  // Errors: those of DriverYield::begin.
  Status make_room();
  // More calls than begin() are ignored.
  void end();

 private:
  LockedEngine& locked_;
  DriverYield& yields_;
  bool has_room_ GUARDED_BY(locked_.mutex) = false;  // of make_room()
  int begun_ GUARDED_BY(locked_.mutex) = 0;
};

}  // namespace tessera
