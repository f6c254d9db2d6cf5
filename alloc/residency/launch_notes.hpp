// What of a launch is noted when its runs are present: for the iteration tracker, which learns what the program repeats
// and how long its launches take, and for the waits, which must know kernels that wait for others.
//
// Thread safety: every call may be made from any thread that is inside the gate. Takes no lock.
#pragma once

#include <cstdint>

#include "residency/locked_engine.hpp"

namespace tessera {

class LaunchNotes {
 public:
  // REQUIRES: it outlives this.
  explicit LaunchNotes(LockedEngine& locked) : locked_(locked) {}

  // A use began at `epoch`. Starts a watch where launches are timed.
  void note_launch(Runs runs, StreamId stream, Epoch epoch, Access access, Use& use);
  // Before the launch. Until memory is short, no wait depends on it.
  void note_kernel(const void* work, StreamId stream, Epoch epoch, std::uint32_t gate_slot);
  // Work that uses no run: its watch, or Use::kNoWatch.
  std::uint32_t time_other(StreamId stream);

 private:
  LockedEngine& locked_;
};

}  // namespace tessera
