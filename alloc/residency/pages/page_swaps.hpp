// Moves while no access is possible, for programs that may touch pages unannounced.
//
// Behind the closed gate no launch starts, and after a wait for all streams nothing runs. Then a copy and a change of
// mappings are atomic to the program: no write falls between them, no access finds the page unmapped. For the same
// reason these moves do not overlap with the program's work, as all others do
// (docs/decisions/0010-host-backed-pages.md).
//
// Thread safety: none; the engine's lock. REQUIRES of all calls: there is a backing tier, the gate is closed, and all
// work on the device is over.
#pragma once

#include <span>

#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageSwaps {
 public:
  PageSwaps(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings, PageCopies& copies)
      : machine_(machine), ledger_(ledger), mappings_(mappings), copies_(copies) {}

  // kResident -> kCold: the bytes go to host frames, which are then mapped in place of the device frames, so that
  // unannounced accesses find them. Returns the bytes that left. Errors: kOutOfMemory when the backing tier has no
  // frame for the first page; of several errors the first. Pages already done stay done.
  Result<Bytes> out(std::span<const PageRef> pages);
  // kCold -> kResident. Errors: kOutOfMemory when the device tier has no frame; pages done before it stay done.
  Status in(std::span<const PageRef> pages);
  // Maps the host frames of kCold pages at the pages' own addresses. Without that no byte is lost, but an unannounced
  // access would fault: this is logged.
  void back(std::span<const PageRef> pages);

 private:
  Status copy_to_backing(std::span<const PageRef> pages);
  Status await_copies(StreamId stream, Status queued);
  Result<Bytes> unmap(std::span<const PageRef> pages);
  Status finish_out(PageRef page);
  Status replace_frame(PageRef page);
  Status fill(std::span<const PageRef> pages);
  Status finish_in(PageRef page);

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  PageCopies& copies_;
};

}  // namespace tessera
