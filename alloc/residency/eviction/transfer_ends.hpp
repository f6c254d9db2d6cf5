// Finishes transfers, waits for them, and does what follows from their end: frames with their bytes copied out are
// freed together, and pages in host memory go on.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/eviction_checks.hpp"
#include "residency/eviction/onward_pages.hpp"
#include "residency/eviction/pages_in_flight.hpp"
#include "residency/eviction/parted_evictions.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class TransferEnds {
 public:
  enum class Await : std::uint8_t { kNone, kOldest, kEvicting };  // evictions of up to `bytes`

  TransferEnds(Engine& engine, PageMoves& moves, PagesInFlight& in_flight, EvictionChecks& checks,
               PartedEvictions& parted, OnwardPages& onward)
      : engine_(engine), moves_(moves), in_flight_(in_flight), checks_(checks), parted_(parted), onward_(onward) {}

  // Finishes every transfer that is done, and the awaited ones. Errors: the first, after all were polled; kNotReady
  // where an awaited transfer is queued behind work that does not end (StreamWaits::Bound).
  Status finish(Await await, Bytes bytes = {});
  Status finish_all();
  // Waits for the transfer of one page, if it has one in flight. A kEvicting page keeps its state with its copy done; a
  // kParting one stays on the device; one that is apart and copied is evicted; one that is checked keeps its place.
  // Errors: the driver's, with the transfer possibly still in flight; a failed read from the file. A failed write is
  // not an error here: the page still has its bytes.
  Status settle(PageRef page);
  // Whether the page's read from the file has ended. REQUIRES: it is kLoading.
  Result<bool> has_risen(PageRef page);
  // The runs' bytes are present for work queued on `stream` from now on; with kNoStream, on return.
  Status await_arrivals(Runs runs, StreamId stream);
  // Waits for the work that the run's evictions in flight are queued behind, so that its pages can then be taken away.
  // Errors: kNotReady where that work does not end.
  Status await_way_out(Run& run);

 private:
  struct Ended;

  Status await_parting(Await await, Bytes bytes);
  Result<bool> finish_one(PageRef page, bool wait, Ended& ended);
  Result<bool> finish_spill(PageRef page, bool wait);
  Status await_move(PageRef page);
  Status await_all(std::span<const PageRef> arriving);
  Status await_users(PageRef page);
  Status await_link(PageRef page);

  Engine& engine_;
  PageMoves& moves_;
  PagesInFlight& in_flight_;
  EvictionChecks& checks_;
  PartedEvictions& parted_;
  OnwardPages& onward_;
};

}  // namespace tessera
