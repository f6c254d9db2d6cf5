// Moves a run's pages to their initial places, before a simulation begins.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>

#include "residency/engine.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

// As Residency::place(). REQUIRES: all of its pages are on the device, and none is in use.
Status place_pages(Engine& engine, PageMoves& moves, Transfers& transfers, Run& run, std::span<const Locations> places);

}  // namespace tessera
