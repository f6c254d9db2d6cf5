// Moves of pages between host memory and the file.
//
// The calls that finish a transfer return true when it has ended and the page took a step; `wait`: wait for that.
//
// Thread safety: none; the engine's lock.
#pragma once

#include "residency/pages/file_meter.hpp"
#include "residency/pages/page_copies.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_machine.hpp"

namespace tessera {

class PageFiles {
 public:
  // Transfers in flight at most, so that the engines of several devices do not take each other's slots: an engine that
  // is refused has transfers of its own to wait for.
  static constexpr std::size_t kMostInFile = 256;

  PageFiles(const PageMachine& machine, PageLedger& ledger, PageCopies& copies)
      : machine_(machine), ledger_(ledger), copies_(copies) {}

  // kCold in host -> kSpilling. Errors: kOutOfMemory when the file is full, kBusy with kMostInFile.
  Status spill(PageRef page);
  // kCold in file -> kLoading. Errors: kBusy when no host or staging frame is free, or with kMostInFile in flight.
  Status load(PageRef page);
  // Errors: the file's, and the page is kCold where it was, or kLost.
  Result<bool> finish_spill(PageRef page, bool wait);
  Result<bool> finish_load(PageRef page, bool wait);

  // Measured bytes per second; 0 = not measured yet.
  double read_rate() const { return read_meter_.rate(); }
  double write_rate() const { return write_meter_.rate(); }

 private:
  Status check_share() const;
  Status outcome(PageRef page, bool wait);

  const PageMachine& machine_;
  PageLedger& ledger_;
  PageCopies& copies_;
  FileMeter read_meter_, write_meter_;
};

}  // namespace tessera
