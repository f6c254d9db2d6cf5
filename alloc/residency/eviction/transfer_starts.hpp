// Starts transfers between the tiers: each as the step in PageMoves, listed when it has begun.
//
// It evicts nothing to make room (device_evictor.hpp).
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>

#include "residency/engine.hpp"
#include "residency/eviction/pages_in_flight.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class TransferStarts {
 public:
  // When pages that are copied become mapped, where work may use them unannounced (page_arrivals.hpp).
  enum class Mapped : std::uint8_t { kAtOnce, kOnArrival };

  TransferStarts(Engine& engine, PageMoves& moves, PagesInFlight& in_flight)
      : engine_(engine), moves_(moves), in_flight_(in_flight) {}

  // Where pages are host-backed or reachable, first waits for all work on the device. Reachable pages for which that
  // does not end become kZeroCopy.
  Status mount(std::span<const PageRef> pages, Mapped mapped);
  Result<std::size_t> copy_out(std::span<const PageRef> batch, Location to);
  // Frees host frames of candidates for it.
  Status load(PageRef page);
  // As a hint: if it fails, the page is fetched when it is used.
  void try_rise(PageRef page);
  // Frees file copies of pages on the device for it. Errors: kOutOfMemory also where nothing can be spilled.
  Status spill(PageRef page);
  Status await_recompute(PageRef page, StreamId stream);
  // Frees host frames of candidates first, so that no page has to wait or go elsewhere.
  void spare_host_room(Bytes bytes);

 private:
  Status mount_others(std::span<const PageRef> pages, Mapped mapped);
  Status fetch_reachable(std::span<const PageRef> pages);
  Status mount_apart(std::span<const PageRef> pages);
  Bytes drop_file_copies(Bytes bytes);

  Engine& engine_;
  PageMoves& moves_;
  PagesInFlight& in_flight_;
};

}  // namespace tessera
