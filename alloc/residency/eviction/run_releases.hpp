// Takes the pages of a whole run away, whatever is in flight for them.
//
// Thread safety: none; the engine's lock.
#pragma once

#include "residency/eviction/onward_pages.hpp"
#include "residency/eviction/transfer_ends.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class RunReleases {
 public:
  RunReleases(PageMoves& moves, OnwardPages& onward, TransferEnds& ends)
      : moves_(moves), onward_(onward), ends_(ends) {}

  // Discards the contents of its pages that are not on the device.
  Status discard(Run& run);
  // Takes all frames away from a run whose bytes do not matter any more. REQUIRES: TransferEnds::await_way_out().
  // Errors: the driver's; something may be mapped at its addresses for good then.
  Status take_back(Run& run);

 private:
  PageMoves& moves_;
  OnwardPages& onward_;
  TransferEnds& ends_;
};

}  // namespace tessera
