// Room in host memory: who goes on from there to the file, and which copies are given up.
//
// Copies of pages that are on the device too go first; then the policy is asked who is needed last.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/snapshot.hpp"
#include "residency/engine.hpp"
#include "residency/page_mover.hpp"
#include "residency/transfers.hpp"

namespace tessera {

class HostRoom {
 public:
  HostRoom(Engine& engine, PageMover& mover, Transfers& transfers)
      : engine_(engine), mover_(mover), transfers_(transfers) {}

  // Makes some progress. Errors: kOutOfMemory when there is none to make; those of the transfer that was waited for.
  Status make(Bytes bytes);
  // A page of the newcomer is about to leave the device. Where host memory is full, whoever lies there and is needed
  // later goes to the file in its place: what comes back first is then near, and comes while the rest is read. A
  // newcomer that went on to the file would be needed before all that lie there, and have come from there alone.
  // True: there will be room in a while.
  Result<bool> yield_to(const Run& newcomer, Bytes bytes);
  // Sends whom the policy chooses to the file. Gives the bytes whose host frames are free now or will be when their
  // write is done. Where the file has no frame for who is chosen, it may be that it has none for a large page, and those
  // of base pages go. With a newcomer only of those whom the policy would rather have leave than him: none of them is
  // about to be used, or in a staging frame.
  Result<Bytes> sink_coldest(Bytes bytes, const Run* newcomer = nullptr);
  // So much, or what there is, of the copies in that memory whose pages are on the device too: all stale ones, and as
  // many valid ones as needed, which now cost more than they may save. Gives what is free by it.
  Bytes drop_idle_copies(Beside in, Bytes bytes);
  // So much, or what there is, of the bytes in that memory that nobody will ask for: their blocks have been freed.
  Result<Bytes> discard_dead(Beside in, Bytes bytes);

 private:
  enum class Which : std::uint8_t { kAll, kBasePages };  // pages that may go to the file

  static bool may_sink(const PageRef& page, Which which);
  Snapshot picture(Bytes need, Which which);
  // `full`: the file had no frame for one of them.
  Result<Bytes> sink_coldest(Bytes bytes, const Run* newcomer, Which which, bool& full);

  Engine& engine_;
  PageMover& mover_;
  Transfers& transfers_;
  std::vector<RunPicture> pictures_;  // of the last choice: memory for the next, which is as large
};

}  // namespace tessera
