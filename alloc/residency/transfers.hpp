// What is under way between the tiers: begins each transfer, lists it, and finishes it when it is done or waited for.
//
// PageMover takes one page one step; this knows which pages have a step to come, and what follows from it: frames whose
// bytes have left are taken away together, a prefetched page that has reached the host goes on to the device, one in a
// staging frame moves on at once, into the host budget or to the file, and so does one that a plan sends to the file. It
// makes room for nobody (room.hpp).
//
// Thread safety: none; the engine's lock. Invariants: validate().
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "residency/engine.hpp"
#include "residency/page_mover.hpp"

namespace tessera {

class Transfers {
 public:
  // `in_flight` says how many there are to who has no lock.
  Transfers(Engine& engine, PageMover& mover, std::atomic<std::uint32_t>& in_flight)
      : engine_(engine), mover_(mover), in_flight_(in_flight) {}

  // ---- beginning (transfers.cpp) ----
  // As PageMover's, each: what has begun is listed.
  // Where the pages are host-backed, all work is waited for before.
  Status mount(std::span<const PageRef> pages);
  // By way of kParting where the pages say so (Page::parts).
  Result<std::size_t> copy_out(std::span<const PageRef> batch, Beside to);
  // Copies that are kept on the chance make way for it.
  Status rise(PageRef page);
  // A hint that cannot be followed is no error: the page comes when it is used.
  void try_rise(PageRef page);
  // File copies of pages on the device make way for it. Errors: kOutOfMemory too where nothing can go to the file.
  Status sink(PageRef page);
  Status await_remake(PageRef page, StreamId stream);
  // check.cpp: takes the pages that are asked whether they have changed from the list, and gives their bytes; those that
  // have are copied there, or to the host. REQUIRES: the outbound streams to both wait for their users, as for a copy.
  Bytes check(std::vector<PageRef>& pages, std::uint64_t mask, std::uint64_t used, Beside to);
  // Pages that have left the device for a copy they had go on from there, where that is not where they shall be.
  void go_onward(std::span<const PageRef> left);
  // Copies that are kept on the chance are the first to make way: nobody waits, or goes elsewhere, for them.
  void spare_host_room(Bytes bytes);

  // ---- finishing (progress.cpp) ----
  enum class Await : std::uint8_t { kNone, kOldest, kLeaving };  // as many as `bytes` of what leaves
  // Every one that is done, and what is waited for. Errors: the first, when all have been looked at.
  Status finish(Await await, Bytes bytes = {});
  Status finish_all();
  // parting.cpp
  // Pages that part are unmapped and begin to leave, if the work before them is over. Errors: the first, when all have been
  // looked at; a page that cannot leave stays.
  Status go_apart();
  // Pages that are apart are mapped again. Errors: the driver's, and they are apart.
  Status recall(std::span<const PageRef> pages);
  // Waits for the transfer of one page, if it has one in flight. A page that is leaving keeps its state; its copy is
  // done. One that parts stays, one that is apart and copied leaves, one that is checked stays where it is. Errors: the
  // driver's, and the transfer may go on; a failed read from the file. A failed write is no error here: the page has its
  // bytes.
  Status settle(PageRef page);
  // Whether the page's read from the file has ended. REQUIRES: it is kRising.
  Result<bool> has_risen(PageRef page);
  // The runs' bytes are there for work that is queued on `stream` from now on; with kNoStream, when this returns.
  Status await_arrivals(Runs runs, StreamId stream);

  // ---- runs ----
  // What its pages hold away from the device need not come back.
  Status discard(Run& run);
  // Takes all frames away from a run whose bytes do not matter any more.
  Status take_back(Run& run);
  // The run goes away.
  void forget(const Run& run);
  // Its pages, all on the device now and used by nobody, go where they shall be (Residency::place).
  Status place(Run& run, std::span<const Places> places);

  bool any() const { return !moving_.empty() || !parting_.empty(); }
  // Bytes of the host budget that are free when what is written to the file has been.
  Bytes yielding() const;
  Status validate() const;

 private:
  struct Ended;

  void started(PageRef page);
  void forget(PageRef page);
  void publish_count();
  Result<bool> finish_one(PageRef page, bool wait, Ended& ended);
  Result<bool> finish_sink(PageRef page, bool wait);
  Status await_move(PageRef page);
  Status await_all(std::span<const PageRef> arriving);
  void await_users(PageRef page);
  // parting.cpp
  Result<std::size_t> part(std::span<const PageRef> batch, Beside to);
  Bytes part_to_ask(std::vector<PageRef>& pages, std::uint64_t mask, Beside to);
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
  PageMover& mover_;
  std::atomic<std::uint32_t>& in_flight_;
  std::vector<PageRef> moving_;    // oldest first
  std::vector<PageRef> parting_;   // likewise: not moving yet
  std::vector<PageRef> stranded_;  // cold in a host frame that is not theirs to stay in: must move on
};

}  // namespace tessera
