// Room in host memory: which pages are spilled to the file, and which copies are dropped.
//
// Host copies of pages that are on the device too are dropped first; then the policy chooses the pages with the latest
// next use.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/snapshot.hpp"
#include "residency/engine.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class HostEvictor {
 public:
  HostEvictor(Engine& engine, PageMoves& moves, Transfers& transfers)
      : engine_(engine), moves_(moves), transfers_(transfers) {}

  // Makes some progress. Errors: kOutOfMemory when nothing can be freed; those of the transfer that was waited for.
  Status make_room(Bytes bytes);
  // A page of `newcomer` is about to be evicted from the device. Where host memory is full, pages there with a later
  // next use are spilled in its place, so that what is needed first is near and is fetched while the rest is loaded. If
  // the newcomer were spilled instead, it would be needed before all pages in host memory and have to be loaded alone.
  // True: there will be room soon.
  Result<bool> yield_to(const Run& newcomer, Bytes bytes);
  // Spills the pages that the policy chooses. Returns the bytes of host frames that are free now or will be when their
  // write is done. Where the file has no frame for a chosen page, it may lack only large frames, and smaller pages are
  // spilled instead. With `newcomer`, only pages that the policy ranks as better victims are spilled, none of which is
  // about to be used or in a staging frame.
  Result<Bytes> spill_coldest(Bytes bytes, const Run* newcomer = nullptr);
  // Drops up to `bytes` of copies in that memory of pages that are on the device too: all stale ones, and as many valid
  // ones as needed, which cost more now than they may save. Returns the bytes freed.
  Bytes drop_idle_copies(Location in, Bytes bytes);
  // Discards up to `bytes` in that memory that belong to freed blocks.
  Result<Bytes> discard_dead(Location in, Bytes bytes);

 private:
  // Pages of freed blocks that kernels used in host memory, as far as these are over.
  Result<Bytes> discard_in_host();
  // Of pages up to the class `most`.
  Snapshot picture(Bytes need, PageClass most);
  // `full`: the file had no frame for one of them.
  Result<Bytes> spill_coldest(Bytes bytes, const Run* newcomer, PageClass most, bool& full);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  std::vector<RunPicture> pictures_;  // of the last choice: buffer reused by the next, which is as large
};

}  // namespace tessera
