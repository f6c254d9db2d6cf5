// Ranges: runs that the program has mapped side by side (pages/row.hpp), and what of them a launch gets where not all
// fits.
//
// Without extents, an address in a range means all of the range. Where that exceeds the device, part of it is used in
// host memory (eviction/partial_runs.hpp), as of a block. Where that is not possible, a refusal would be one of work
// that may use little of the range. So the launch gets the runs that it names, and of the others as many as fit: those
// above its addresses first, the nearest first, since the address of an object is usually its first byte.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <atomic>
#include <cstdint>
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
  bool fits(Runs runs) const;       // together on the device, and nothing of them is in host memory
  // What a use of these runs gets.
  enum class Share : std::uint8_t {
    kFits,     // all: on the device, or where it is in host memory already
    kPartial,  // all, with more of it in host memory than before
    kNearest,  // what is nearest to its addresses
  };
  Share share_of(Runs runs);
  // Host memory can be mapped at the addresses of runs.
  bool can_be_partial() const;
  // A use with Share::kPartial has begun, or was refused. Each time that it was, twice as many others get what is
  // nearest before one is tried again, as a try may wait for all work. These take no lock. REQUIRES: the runs cannot be
  // removed.
  void note_partial(Runs runs);
  void note_not_partial();
  // These runs, and where they do not fill the device, others of the ranges of `origins`: the nearest above these
  // first, then those below. REQUIRES: the runs cannot be removed.
  std::vector<Run*> with_nearest(Runs named, Runs origins);

 private:
  void say_not_all(const Run& range) REQUIRES_LOCK(locked_.mutex);

  LockedEngine& locked_;
  RunTable& runs_;
  bool said_not_all_ GUARDED_BY(locked_.mutex) = false;
  static constexpr std::uint32_t kMostSkipped = 1 << 16;
  std::atomic<std::uint32_t> skips_{0};       // uses that get the nearest runs before one is tried again, ...
  std::atomic<std::uint32_t> next_skips_{1};  // ... and after the next refusal
};

}  // namespace tessera
