// Evictions without a copy because the page has not changed: checked before the eviction, copied if it has.
//
// A launch counts as writing all of its blocks, so without the check weights would be copied out, and written to the
// disk, at each eviction. Their old copies are kept below them as long as the room is not needed
// (docs/decisions/0018-what-has-not-changed.md).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "residency/eviction/pages_in_flight.hpp"
#include "residency/eviction/transfer_starts.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class EvictionChecks {
 public:
  EvictionChecks(PageMoves& moves, PagesInFlight& in_flight, TransferStarts& starts)
      : moves_(moves), in_flight_(in_flight), starts_(starts) {}

  // Removes the pages that get a check from the list, and returns their bytes. Pages that have changed are then copied
  // to `to`, or to the host. REQUIRES: the outbound streams to both wait for their users, as for a copy.
  Bytes begin(std::vector<PageRef>& pages, std::uint64_t mask, Epoch used, Location to);
  // Checks pages that are apart; those that cannot be checked are copied.
  void begin_apart(std::span<const PageRef> pages);
  // Copies pages that a check found changed. One that was used meanwhile stays.
  void copy_changed(std::vector<PageRef> pages);

 private:
  void keep(std::span<const PageRef> pages);

  PageMoves& moves_;
  PagesInFlight& in_flight_;
  TransferStarts& starts_;
};

}  // namespace tessera
