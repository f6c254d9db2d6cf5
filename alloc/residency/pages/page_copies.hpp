// The copies of a page outside the device: its peer, host and file frames.
//
// A *candidate* is a page on the device that keeps its host frame and the fingerprint of the copy there, because the
// copy may still be valid at its next eviction (page_checks.hpp). Host memory that runs short takes these frames first.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageCopies {
 public:
  PageCopies(const PageMachine& machine, PageLedger& ledger, PageMappings& mappings)
      : machine_(machine), ledger_(ledger), mappings_(mappings) {}

  // Frames in that memory for copies of as many of the first pages as possible, or for one alone in a staging frame;
  // older copies are dropped. Returns how many. Errors: kOutOfMemory when there is no frame for the first.
  Result<std::size_t> take(std::span<const PageRef> pages, Location to);
  // A host frame, or one of the staging reserve.
  Status take_host(PageRef page);
  // A staging frame becomes an ordinary host frame, if the budget has room. False: it stays what it is.
  bool adopt(PageRef page);

  // Each returns the frame there, if there is one. REQUIRES: no transfer of it is in flight.
  void drop_all(PageRef page);
  void drop_near(PageRef page) { page->peer ? drop_peer(page) : drop_host(page); }
  void drop_host(PageRef page);
  void drop_peer(PageRef page);
  void drop_file(PageRef page);

  // Host frames so far that the driver did not unmap: they may be at the addresses of their pages for good.
  std::uint64_t stuck() const { return stuck_; }

  // REQUIRES: set only while the host frame and its fingerprint exist.
  void set_candidate(PageRef page, bool candidate);
  // Gives up host frames of candidates, the newest first: what was fetched last is likely evicted last.
  void drop_candidates(Bytes bytes);
  Bytes candidate_bytes() const { return candidate_bytes_; }
  void forget(const Run& run);      // it is about to be removed
  void follow_row(const Run& row);  // it has become a row

 private:
  Status take_one(PageRef page, Location beside);
  Status take_peer(PageRef page);
  void drop_backing(PageRef page);

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageMappings& mappings_;
  std::vector<PageRef> candidates_;  // also pages that were candidates, oldest first
  Bytes candidate_bytes_;
  std::uint64_t stuck_ = 0;
};

}  // namespace tessera
