// Pages in host memory that go on from there: a prefetched page to the device; a page in a staging frame, or one that a
// plan sends to the file, into the host budget or to the file.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/transfer_starts.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class OnwardPages {
 public:
  OnwardPages(Engine& engine, PageMoves& moves, TransferStarts& starts)
      : engine_(engine), moves_(moves), starts_(starts) {}

  // A step of the page has ended for which no call waits.
  void move_on(PageRef page);
  // Vacates staging frames as far as possible now.
  void clear_stranded();
  // Pages that left the device without a copy go on from their copy's tier to the one that a plan names.
  void go_onward(std::span<const PageRef> left);

  bool any() const { return !stranded_.empty(); }
  // The run is about to be removed, or its contents are discarded.
  void forget(const Run& run);
  void follow_row(const Run& row);

 private:
  void fetch(PageRef page);

  Engine& engine_;
  PageMoves& moves_;
  TransferStarts& starts_;
  std::vector<PageRef> stranded_;  // cold in a host frame that they may not keep: they must move on
};

}  // namespace tessera
