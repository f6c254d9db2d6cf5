#include "residency/eviction/initial_places.hpp"

#include <algorithm>

namespace tessera {

// Moves down first, to a peer, the host and the file, and then up again: of the copies that a page leaves in between,
// the requested ones are kept. A page that finds no room stays where it is.
Status place_pages(Engine& engine, PageMoves& moves, Transfers& transfers, Run& run,
                   std::span<const Locations> places) {
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(places.size(), run.shape.pages()));
  const auto each = [&](Locations where, const auto& can_move, const auto& move) -> Status {
    for (std::uint32_t i = 0; i < count; ++i) {
      const PageRef page{&run, i};
      if (!places[i].has_any(where) || !can_move(page)) continue;
      Status moved = move(page);
      const auto waits = [&] { return moved.code() == Code::kBusy || moved.code() == Code::kOutOfMemory; };
      while (waits() && transfers.any()) {
        TESSERA_TRY(transfers.ends.finish(Transfers::Await::kOldest));
        moved = move(page);
      }
      if (moved.is_ok()) transfers.in_flight.add(page);
      if (!moved.is_ok() && !waits()) return moved;
    }
    return transfers.ends.finish_all();
  };
  const auto is_there = [](PageRef page) { return page->state == PageState::kResident; };
  const auto copy_to = [&](Location to) {
    return [&run, &moves, to](PageRef page) {
      page->copy.epoch = run.last_work();
      return moves.mover.copy_out({&page, 1}, to).status();
    };
  };
  if (engine.tiers.peer != nullptr) TESSERA_TRY(each(Location::kPeer, is_there, copy_to(Location::kPeer)));
  TESSERA_TRY(each(Location::kHost | Location::kFile, is_there, copy_to(Location::kHost)));
  run.holds.fetch_add(1);  // pages that were written stay in host memory too
  const auto in_host_only = [](PageRef page) { return page->state == PageState::kCold && page->host && !page->file; };
  const auto is_near = [](PageRef page) { return page->state == PageState::kCold && page->is_near(); };
  Status status = each(Location::kFile, in_host_only, [&](PageRef page) { return moves.files.spill(page); });
  if (status.is_ok()) {
    status = each(Location::kDevice, is_near, [&](PageRef page) { return moves.mover.mount({&page, 1}); });
  }
  run.holds.fetch_sub(1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const PageRef page{&run, i};
    if (!places[i].has(Location::kHost) && (page->file || page->device)) moves.copies.drop_host(page);
    if (!places[i].has(Location::kPeer) && page->device) moves.copies.drop_peer(page);
  }
  return status;
}

}  // namespace tessera
