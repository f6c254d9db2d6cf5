// Transfers between the tiers: starts each one, lists it, and finishes it when it is done or waited for.
//
// PageMoves take one page one step. This class knows which pages have a step pending and what follows from it: frames
// with their bytes copied out are freed together; a prefetched page that reached the host goes on to the device; a page
// in a staging frame moves on at once, into the host budget or to the file, and so does one that a plan sends to the
// file. It evicts nothing to make room (device_evictor.hpp).
//
// Thread safety: none; the engine's lock. Invariants: validate().
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "base/epoch.hpp"
#include "residency/engine.hpp"
#include "residency/pages/page_moves.hpp"

namespace tessera {

class Transfers {
 public:
  // `in_flight` publishes the number of transfers to readers without the lock.
  Transfers(Engine& engine, PageMoves& moves, std::atomic<std::uint32_t>& in_flight)
      : engine_(engine), moves_(moves), in_flight_(in_flight) {}

  // ---- starting (transfers.cpp) ----
  // Each as the step in PageMoves; what was started is listed. Where pages are host-backed, mount() first waits for
  // all work on the device.
  // `mapped`: when pages that are copied become mapped, where work may use them unannounced (page_arrivals.hpp).
  enum class Mapped : std::uint8_t { kAtOnce, kOnArrival };
  Status mount(std::span<const PageRef> pages, Mapped mapped);
  // By way of kParting where the pages request it (Page::eviction.parts).
  Result<std::size_t> copy_out(std::span<const PageRef> batch, Location to);
  // Frees host frames of candidates for it.
  Status load(PageRef page);
  // As a hint: if it fails, the page is fetched when it is used.
  void try_rise(PageRef page);
  // Frees file copies of pages on the device for it. Errors: kOutOfMemory also where nothing can be spilled.
  Status spill(PageRef page);
  Status await_recompute(PageRef page, StreamId stream);
  // check.cpp: removes the pages that get a check from the list, and returns their bytes. Pages that have changed are
  // then copied to `to`, or to the host. REQUIRES: the outbound streams to both wait for their users, as for a copy.
  Bytes check(std::vector<PageRef>& pages, std::uint64_t mask, Epoch used, Location to);
  // Pages that left the device without a copy go on from their copy's tier to the one that a plan names.
  void go_onward(std::span<const PageRef> left);
  // Frees host frames of candidates first, so that no page has to wait or go elsewhere.
  void spare_host_room(Bytes bytes);

  // ---- finishing (progress.cpp) ----
  enum class Await : std::uint8_t { kNone, kOldest, kEvicting };  // evictions of up to `bytes`
  // Finishes every transfer that is done, and the awaited ones. Errors: the first, after all were polled; kNotReady
  // where an awaited transfer is queued behind work that does not end (StreamWaits::Bound).
  Status finish(Await await, Bytes bytes = {});
  Status finish_all();
  // parting.cpp
  // Unmaps pages that are kParting and starts their evictions, if the work before them is over. Errors: the first,
  // after all were tried; a page that cannot be evicted stays.
  Status go_apart();
  // Maps pages that are apart again. Errors: the driver's; the pages are still apart then.
  Status recall(std::span<const PageRef> pages);
  // Waits for the transfer of one page, if it has one in flight. A kEvicting page keeps its state with its copy done; a
  // kParting one stays on the device; one that is apart and copied is evicted; one that is checked keeps its place.
  // Errors: the driver's, with the transfer possibly still in flight; a failed read from the file. A failed write is
  // not an error here: the page still has its bytes.
  Status settle(PageRef page);
  // Whether the page's read from the file has ended. REQUIRES: it is kLoading.
  Result<bool> has_risen(PageRef page);
  // The runs' bytes are present for work queued on `stream` from now on; with kNoStream, on return.
  Status await_arrivals(Runs runs, StreamId stream);

  // ---- runs ----
  // Discards the contents of its pages that are not on the device.
  Status discard(Run& run);
  // Waits for the work that the run's evictions in flight are queued behind, so that its pages can then be taken away.
  // Errors: kNotReady where that work does not end.
  Status await_way_out(Run& run);
  // Takes all frames away from a run whose bytes do not matter any more. REQUIRES: await_way_out().
  Status take_back(Run& run);
  // The run is about to be removed.
  void forget(const Run& run);
  // The run has become a row: what is in flight for its pages is in flight for those of its parts.
  void follow_row(const Run& row);
  // Moves its pages to the given places (Residency::place). REQUIRES: all are on the device, and none is in use.
  Status place(Run& run, std::span<const Locations> places);

  bool any() const { return !moving_.empty() || !parting_.empty(); }
  // Bytes of the host budget that become free when the current writes to the file end.
  Bytes yielding() const;
  Status validate() const;

 private:
  struct Ended;

  Status mount_apart(std::span<const PageRef> pages);
  void started(PageRef page);
  void forget(PageRef page);
  void publish_count();
  Result<bool> finish_one(PageRef page, bool wait, Ended& ended);
  Result<bool> finish_spill(PageRef page, bool wait);
  Status await_move(PageRef page);
  Status await_all(std::span<const PageRef> arriving);
  Status await_users(PageRef page);
  Status await_link(PageRef page);
  // parting.cpp
  Result<std::size_t> part(std::span<const PageRef> batch, Location to);
  Bytes part_to_ask(std::vector<PageRef>& pages, std::uint64_t mask, Location to);
  Status await_parting();
  Status await_parted(Await await, Bytes bytes);
  Status part_for(Bytes bytes);
  void ask_apart(std::span<const PageRef> pages);
  Status copy_apart(std::span<const PageRef> pages);
  void copy_changed(std::vector<PageRef> pages);
  void keep(std::span<const PageRef> pages);
  void move_on(PageRef page);
  void go_on(PageRef page);
  void clear_stranded();
  Bytes drop_file_copies(Bytes bytes);

  Engine& engine_;
  PageMoves& moves_;
  std::atomic<std::uint32_t>& in_flight_;
  std::vector<PageRef> moving_;    // oldest first
  std::vector<PageRef> parting_;   // oldest first; not moving yet
  std::vector<PageRef> stranded_;  // cold in a host frame that they may not keep: they must move on
};

}  // namespace tessera
