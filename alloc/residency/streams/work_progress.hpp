// Whether the work on a slot of streams makes progress: how much of it was found to be over, and for how long waits
// have seen none end.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.hpp"
#include "residency/streams/slots_in.hpp"

namespace tessera {

class WorkProgress {
 public:
  // `count` pieces of work on the slot were found to be over.
  void note_ended(std::size_t slot, std::uint64_t count);
  // A wait for work on these slots took this long. Nothing has ended in it if ended() is still `before`.
  void note_waited(std::uint64_t slots, std::uint64_t before, Nanoseconds time);

  // The pieces of work on these slots that were found to be over so far.
  std::uint64_t ended(std::uint64_t slots) const;
  // The time waited on the slot since the last of them.
  Nanoseconds quiet(std::size_t slot) const { return Nanoseconds(slots_[slot].quiet.load()); }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> quiet{0};  // nanoseconds
  };
  std::array<Slot, kStreamSlots> slots_;
};

}  // namespace tessera
