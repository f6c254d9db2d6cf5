// Takes pages to and from kZeroCopy and kReachable: a host frame is mapped at the page's address in place of a device
// frame, and kernels read and write it there, over the link (CUDA's name for that is zero-copy).
//
// Every access finds the bytes at the same address before and after; it must not happen meanwhile.
//
// Thread safety: none; the engine's lock. REQUIRES of all calls: there is a tier for it, the gate is closed, and all
// work on the device is over.
#pragma once

#include <span>

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageZeroCopy {
 public:
  PageZeroCopy(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings, PageCopies& copies)
      : machine_(machine), ledger_(ledger), mappings_(mappings), copies_(copies) {}

  // kEmpty, kResident, kCold near, kReachable -> kZeroCopy. Returns the bytes of the pages that are; pages after the
  // first that fails stay as they were. Errors: where not even the first is: kOutOfMemory when the tier has no frame
  // for it; the driver's.
  Result<Bytes> begin(std::span<const PageRef> pages);
  // kResident -> kReachable; otherwise as begin().
  Result<Bytes> keep_reachable(std::span<const PageRef> pages);
  // kZeroCopy, kReachable -> kResident. Errors: kOutOfMemory when there is no device frame, the driver's: pages done
  // before it stay done; the others are as before, or kLost if the driver also refuses to map their host frames again.
  Status end(std::span<const PageRef> pages);
  // kZeroCopy, kReachable -> kEmpty, for pages of a run in which no block lives. Returns their bytes. It is enough that
  // all uses of the run are over; of kReachable pages, all work that could use them. Errors: kInternal.
  Result<Bytes> discard_dead(Run& run);
  // kZeroCopy -> kEmpty for a run whose bytes do not matter, as another block begins in it. It is enough that its
  // announced uses are over. REQUIRES: no launch can find it yet.
  Status discard_all(Run& run);
  // Maps the pages, which are not mapped anywhere any more, at the addresses that they have now. A page that cannot be
  // mapped is kLost. REQUIRES: they are kZeroCopy or kReachable.
  void map_again(std::span<const PageRef> pages);
  // Lets work of the other devices that the tier has admitted use those of the pages that are kZeroCopy; nothing moves,
  // so work may use them meanwhile. Errors: the driver's. REQUIRES: there is a tier for it, no more.
  Status open_to_others(std::span<const PageRef> pages);

 private:
  Status copy(std::span<const PageRef> pages, std::span<const Frame> frames);
  Status queue(PageRef page, Address to, StreamId stream);
  Status map_host(PageRef page, const Frame& frame);
  Status replace(PageRef page, const Frame& frame);
  Result<Bytes> begin(std::span<const PageRef> pages, PageEvent event);
  Status begin(PageRef page, const Frame& frame, PageEvent event);
  Status replace_host(PageRef page);
  Status fill(std::span<const PageRef> pages);
  Status finish_end(PageRef page);
  Status discard(PageRef page);
  void lose(PageRef page, const Status& reason);

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  PageCopies& copies_;
};

}  // namespace tessera
